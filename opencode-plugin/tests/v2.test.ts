import assert from "node:assert/strict"
import test from "node:test"

import plugin from "../memory.ts"
import { answers, BLOCK, type FakeService, HostV2, Message2, serve, until } from "./fixtures.ts"

/** As the real service: what a session has in its context is not brought again. */
function oncePerSession(service: FakeService): void {
  let inContext = false
  service.behave = (call, response) => {
    const event = call.body["hook_event_name"]
    if (event === "SessionStart") inContext = false
    const name = event === "UserPromptSubmit" && !inContext ? "block" : "nothing"
    if (name === "block") inContext = true
    answers[name]?.(call, response)
  }
}

test("a block stands behind the prompt in every request, byte for byte, and is reported once", async (t) => {
  const service = await serve(t)
  oncePerSession(service)
  const host = await HostV2.with({ url: service.url })
  await host.say("when does the deploy key rotate?")
  const first = await host.request()
  host.answer("on Tuesdays")
  await host.say("thanks")
  const second = await host.request()
  const third = await host.request("generate")
  assert.deepEqual(first[0]?.content, [
    { type: "text", text: "when does the deploy key rotate?" },
    { type: "text", text: BLOCK },
  ])
  assert.equal(JSON.stringify(second[0]), JSON.stringify(first[0]))
  assert.equal(JSON.stringify(third), JSON.stringify(second))
  assert.equal(second[2]?.content.length, 1)
  assert.deepEqual(service.told("UserPromptSubmit").map(({ prompt }) => prompt), [
    "when does the deploy key rotate?",
    "thanks",
  ])
  await host.cleanup?.()
  assert.equal(service.reports().length, 1)
})

test("messages keep their class and are replaced, never changed", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url })
  await host.say("hello")
  const [message] = await host.request()
  assert.ok(message instanceof Message2)
  assert.notEqual(message, host.history[0])
  assert.equal(host.history[0]?.content.length, 1)
})

test("messages without ids keep their blocks too", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url })
  await host.say("hello", { id: undefined })
  const first = await host.request()
  host.answer("hi")
  await host.say("again", { id: undefined })
  const second = await host.request()
  assert.equal(first[0]?.content.length, 2)
  assert.equal(JSON.stringify(second[0]), JSON.stringify(first[0]))
  assert.equal(second[2]?.content.length, 2)
})

test("a prompt that no hook told of is asked for when it is sent; older ones are not", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url })
  await host.say("an old one", { told: false })
  host.answer("ok")
  await host.say("the newest", { told: false })
  await host.request()
  const messages = await host.request()
  assert.deepEqual(service.told("UserPromptSubmit").map(({ prompt }) => prompt), ["the newest"])
  assert.deepEqual(messages.map(({ content }) => content.length), [1, 1, 2])
})

test("two prompts at once keep their own blocks", async (t) => {
  const service = await serve(t, (call, response) => {
    const { hook_event_name: event, prompt } = call.body
    response.end(JSON.stringify(event === "UserPromptSubmit" ? { block: `for ${prompt}`, uids: [] } : {}))
  })
  const host = await HostV2.with({ url: service.url })
  await host.say("one")
  await host.say("two")
  const messages = await host.request()
  assert.deepEqual(messages.map(({ content }) => content[1]?.text), ["for one", "for two"])
})

test("compaction keeps the text, forgets the blocks and lets them in again", async (t) => {
  const service = await serve(t)
  oncePerSession(service)
  const host = await HostV2.with({ url: service.url })
  await host.say("we chose Postgres")
  await host.request()
  host.answer("noted")
  await host.request("compaction")
  const [kept] = await until(() => service.told("PreCompact").length > 0 && service.told("PreCompact"))
  assert.deepEqual(kept?.["messages"], [
    { role: "user", text: "we chose Postgres" },
    { role: "assistant", text: "noted" },
  ])
  host.history = []
  host.answer("summary")
  await host.say("which database?")
  const messages = await host.request()
  assert.equal(messages[1]?.content[1]?.text, BLOCK)
  assert.deepEqual(service.told("SessionStart").map(({ source }) => source), ["startup", "compact"])
})

test("output of chosen tools is kept, of failed ones not", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url, tool_capture: ["bash", "docs"] })
  const text = (text: string): object => ({ content: [{ type: "text", text }] })
  await host.fire("execute.after", { tool: "shell", id: "1", status: "completed", result: text("a.py") })
  await host.fire("execute.after", { tool: "docs", id: "2", status: "completed", result: { content: [], output: "page" } })
  await host.fire("execute.after", { tool: "shell", id: "3", status: "error", error: "failed" })
  await host.fire("execute.after", { tool: "read", id: "4", status: "completed", result: text("not chosen") })
  await host.cleanup?.()
  const kept = service.told("PostToolUse").map(({ tool_name, tool_response }) => [tool_name, tool_response])
  assert.deepEqual(kept.toSorted(), [["docs", "page"], ["shell", "a.py"]])
})

test("installed twice, it works once", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url }, 2)
  await host.say("hello")
  const messages = await host.request()
  await host.say("untold", { told: false })
  await host.request()
  await host.cleanup?.()
  assert.equal(messages[0]?.content.length, 2)
  assert.equal(service.told("UserPromptSubmit").length, 2)
  assert.equal(service.told("SessionStart").length, 1)
})

test("the cleanup gives the hooks back", async () => {
  const host = await HostV2.with({})
  await host.cleanup?.()
  assert.deepEqual(host.disposed.toSorted(), ["compaction", "context", "execute.after", "generate", "prompt"])
})

test("a host that refuses one hook gets one line and keeps the rest", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  const host = new HostV2()
  const hook = async (name: string, callback: () => Promise<void>): Promise<object> => {
    if (name === "generate") throw new Error("no such hook")
    return host.register(name, callback)
  }
  await plugin.setup({ session: { hook } } as never)
  assert.deepEqual([...host.callbacks.keys()], ["prompt", "context", "compaction"])
  assert.equal(write.mock.callCount(), 1)
})

test("an unknown host gets one line", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  for (const context of [{}, undefined, null, { location: {}, sessions: {} }]) await plugin.setup(context as never)
  assert.equal(write.mock.callCount(), 4)
  assert.match(String(write.mock.calls[3]?.arguments[0]), /^memory: .*unknown.*location, sessions.*\n$/)
})

test("opencode 1.18, which calls both lines, is started once and without a word", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const write = t.mock.method(process.stderr, "write", () => true)
  const small = { options: {}, agent: {}, aisdk: {}, catalog: {}, command: {}, integration: {}, plugin: {} }
  assert.equal(await plugin.setup(small as never), undefined)
  await plugin.server({ directory: "/work" } as never)
  t.mock.timers.tick(10_000)
  assert.equal(write.mock.callCount(), 0)
})

test("below a process that memory started, it does nothing", async (t) => {
  process.env["MEMORY_HOOK_ACTIVE"] = "1"
  t.after(() => delete process.env["MEMORY_HOOK_ACTIVE"])
  const host = await HostV2.with({})
  assert.equal(host.callbacks.size, 0)
})

test("events of an unknown shape harm nobody", async (t) => {
  const service = await serve(t)
  const host = await HostV2.with({ url: service.url, tool_capture: "*" })
  for (const name of host.callbacks.keys()) {
    for (const odd of [{}, { messages: 5 }, { messages: [null, {}, { role: "user" }] }, { prompt: 5 }, { result: 5 }]) {
      await host.fire(name, odd)
    }
  }
})
