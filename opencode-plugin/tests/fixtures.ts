// A memory service that behaves as a test wants, and the two hosts.

import { mkdtempSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"

import type { Hooks, PluginInput } from "@opencode-ai/plugin"
import type { Message, Part, TextPart } from "@opencode-ai/sdk"

import plugin from "../memory.ts"

for (const name of Object.keys(process.env)) if (name.startsWith("MEMORY_")) delete process.env[name]
process.env["MEMORY_DISCOVERY_FILE"] = "off"
process.env["MEMORY_PORT"] = "1" // never the service of the person who runs this

export const BLOCK = "<semantic-memory>\n- [fact] The deploy key rotates on Tuesdays.\n</semantic-memory>"
export const RECALLED = { block: BLOCK, uids: ["u1"], chars: BLOCK.length, fingerprint: "f1", project: "acme/shop" }

export type Call = { path: string; token: string; body: Record<string, any> }
type Behaviour = (call: Call, response: ServerResponse) => void

export const answers: Record<string, Behaviour> = {
  block: ({ body }, response) => json(response, body["hook_event_name"] === "UserPromptSubmit" ? RECALLED : {}),
  nothing: (_, response) => json(response, {}),
  never: () => {},
  "status 500": (_, response) => json(response, { title: "broken" }, 500),
  "status 401": (_, response) => json(response, { title: "a token is needed" }, 401),
  garbage: (_, response) => response.end("<html>Welcome to the captive portal</html>"),
  "not HTTP": (_, response) => void response.socket?.end("SSH-2.0-OpenSSH_9.6\r\n"),
  "a list": (_, response) => response.end("[1, 2]"),
  "half an answer": (_, response) => void response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"block": "x'),
  "a redirect": (_, response) => response.writeHead(302, { location: "http://192.0.2.1/" }).end(),
  "one byte at a time": (_, response) => void setInterval(() => response.write(" "), 100).unref(),
  "the wrong types": (_, response) => json(response, { block: ["x"], uids: "u1", chars: "many" }),
  "an endless block": (_, response) => json(response, { ...RECALLED, block: "x".repeat(900_000) }),
}

export class FakeService {
  readonly calls: Call[] = []
  behave: Behaviour
  url = ""

  constructor(behave: Behaviour) {
    this.behave = behave
  }

  told(event: string): Call["body"][] {
    return this.calls.map(({ body }) => body).filter((body) => body["hook_event_name"] === event)
  }

  reports(): Call["body"][] {
    return this.calls.filter(({ path }) => path === "/inject/report").map(({ body }) => body)
  }
}

export async function serve(test: TestContext, behave = answers["block"] as Behaviour): Promise<FakeService> {
  const service = new FakeService(behave)
  const server = createServer((request, response) => void receive(service, request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return service
}

async function receive(service: FakeService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const call = { path: request.url ?? "", token: request.headers.authorization ?? "", body: text ? JSON.parse(text) : {} }
  service.calls.push(call)
  service.behave(call, response)
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** An address where nothing listens. */
export const NOWHERE = "http://127.0.0.1:9"

export function folder(): string {
  return mkdtempSync(join(tmpdir(), "memory-plugin-"))
}

export async function until<T>(found: () => T, what = "a condition"): Promise<Exclude<T, false | undefined>> {
  for (const end = Date.now() + 10_000; Date.now() < end; await sleep(5)) {
    const result = found()
    if (result) return result as Exclude<T, false | undefined>
  }
  throw new Error(`waited in vain for ${what}`)
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await work()
  return performance.now() - before
}

let count = 0
export const unique = (prefix: string): string => `${prefix}_${process.pid}_${++count}`

/** opencode 1.x with one session. */
export class HostV1 {
  readonly session = unique("ses")
  readonly history: { info: Message; parts: Part[] }[] = []
  hooks: Hooks = {}

  static async with(options: Record<string, unknown>): Promise<HostV1> {
    const host = new HostV1()
    const input = { directory: "/work/shop", worktree: "/work/shop", project: { id: "global" } }
    host.hooks = await plugin.server(input as unknown as PluginInput, options)
    return host
  }

  /** A prompt; the parts of the message that opencode stores. */
  async say(text: string, ...more: Partial<TextPart>[]): Promise<TextPart[]> {
    const info = { id: unique("msg"), sessionID: this.session, role: "user" } as Message
    const parts = [{ text }, ...more].map((part) => this.part(info, part))
    await this.hooks["chat.message"]?.({ sessionID: this.session }, { message: info as never, parts })
    this.history.push({ info, parts })
    return parts as TextPart[]
  }

  answer(text: string, info: object = {}): void {
    const message = { id: unique("msg"), sessionID: this.session, role: "assistant", ...info } as Message
    this.history.push({ info: message, parts: [this.part(message, { text })] })
  }

  async event(type: string, properties: object): Promise<void> {
    await this.hooks.event?.({ event: { type, properties } as never })
  }

  async ran(tool: string, result: object, args: object = {}): Promise<void> {
    const call = { tool, sessionID: this.session, callID: unique("call"), args }
    await this.hooks["tool.execute.after"]?.(call, result as never)
  }

  /** opencode is about to send the messages to the model. */
  async request(): Promise<void> {
    await this.hooks["experimental.chat.messages.transform"]?.({}, { messages: this.history })
  }

  async compact(): Promise<void> {
    await this.hooks["experimental.session.compacting"]?.({ sessionID: this.session }, { context: [] })
    await this.request()
    await this.event("session.compacted", { sessionID: this.session })
  }

  private part(info: Message, part: Partial<TextPart>): Part {
    return { id: unique("prt"), sessionID: this.session, messageID: info.id, type: "text", text: "", ...part }
  }
}

export class Message2 {
  readonly role: string
  readonly content: readonly { type: string; text: string }[]
  readonly id: string | undefined

  constructor(role: string, text: string, id?: string) {
    this.role = role
    this.content = Object.freeze([{ type: "text", text }])
    this.id = id
  }
}

type Callback = (event: object) => Promise<void>

/** opencode 2.x with one session, as far as its documentation tells. */
export class HostV2 {
  readonly session = unique("ses")
  readonly disposed: string[] = []
  readonly callbacks = new Map<string, Callback[]>()
  history: Message2[] = []
  cleanup: (() => Promise<void>) | void = undefined

  static async with(options: Record<string, unknown>, copies = 1): Promise<HostV2> {
    const host = new HostV2()
    const context = {
      options,
      location: { directory: "/work/shop" },
      session: { hook: host.register },
      tool: { hook: host.register },
    }
    for (let n = 0; n < copies; n++) host.cleanup = await plugin.setup(context as never)
    return host
  }

  readonly register = async (name: string, callback: Callback): Promise<object> => {
    this.callbacks.set(name, [...(this.callbacks.get(name) ?? []), callback])
    return { dispose: async () => void this.disposed.push(name) }
  }

  async fire(name: string, event: object): Promise<void> {
    for (const callback of this.callbacks.get(name) ?? []) await callback({ sessionID: this.session, ...event })
  }

  /** A prompt, told by the hook or not. */
  async say(text: string, { told = true, id = unique("msg") as string | undefined } = {}): Promise<void> {
    if (told) await this.fire("prompt", { messageID: id, prompt: { text } })
    this.history.push(new Message2("user", text, id))
  }

  answer(text: string): void {
    this.history.push(new Message2("assistant", text, unique("msg")))
  }

  /** The messages that the model receives: the plugin's edits are for this request only. */
  async request(name = "context"): Promise<Message2[]> {
    const messages = [...this.history]
    await this.fire(name, { messages })
    return messages
  }
}
