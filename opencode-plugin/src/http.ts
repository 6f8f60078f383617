// One small JSON request. The service on this machine is spoken to over a plain socket: Bun's fetch and node:http send
// even 127.0.0.1 through HTTP_PROXY, which would hand prompts and the token to the proxy.

import { connect } from "node:net"

import { isLoopback } from "./address.ts"

export type Reply = Readonly<{ status: number; text: string }>
export type Request = Readonly<{ method: "GET" | "POST"; url: string; token: string; body: string; signal: AbortSignal }>

const LARGEST_REPLY = 1024 * 1024

export async function send(request: Request): Promise<Reply> {
  const { protocol } = new URL(request.url)
  if (protocol === "http:" && isLoopback(request.url)) return sendOverSocket(request)
  const { method, url, body, signal } = request
  const content = method === "POST" ? { body } : {}
  const response = await fetch(url, { method, headers: headers(request), signal, redirect: "error", ...content })
  return { status: response.status, text: await response.text() }
}

function headers({ token, method }: Request): Record<string, string> {
  const type: Record<string, string> = method === "POST" ? { "Content-Type": "application/json" } : {}
  return token ? { ...type, Authorization: `Bearer ${token}` } : type
}

/** HTTP/1.0, so that the answer is never chunked and ends with the connection. */
function sendOverSocket(request: Request): Promise<Reply> {
  const url = new URL(request.url)
  const body = Buffer.from(request.body)
  const lines = Object.entries({ Host: url.host, "Content-Length": body.length, ...headers(request) })
  const head = [`${request.method} ${url.pathname}${url.search} HTTP/1.0`, ...lines.map(([k, v]) => `${k}: ${v}`)]
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 80) })
    const abort = (): void => void socket.destroy(new Error("no answer in time"))
    const settle = (): void => request.signal.removeEventListener("abort", abort)
    if (request.signal.aborted) abort()
    request.signal.addEventListener("abort", abort)
    socket.on("connect", () => void socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body])))
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      if (chunks.reduce((sum, { length }) => sum + length, 0) > LARGEST_REPLY) socket.destroy(new Error("too long"))
    })
    socket.on("error", reject)
    socket.on("close", () => {
      settle()
      try {
        resolve(parse(Buffer.concat(chunks).toString("utf8")))
      } catch (error) {
        reject(error)
      }
    })
  })
}

function parse(answer: string): Reply {
  const [, status, rest] = /^HTTP\/1\.\d (\d{3})[^\r\n]*\r\n([\s\S]*)$/.exec(answer) ?? []
  const split = rest?.indexOf("\r\n\r\n") ?? -1
  if (status === undefined || rest === undefined) throw new Error("no HTTP answer")
  if (split < 0 && !rest.startsWith("\r\n")) throw new Error("a broken HTTP answer")
  return { status: Number(status), text: split < 0 ? rest.slice(2) : rest.slice(split + 4) }
}
