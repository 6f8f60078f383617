// What holds for both lines of opencode.

import { type Log, warn } from "./log.ts"

const CLAIMS = Symbol.for("memsite-opencode.claims")
const MOST_CLAIMS = 2000
const PATIENCE = 3000

let isServed = false

/** A hook that throws aborts the user's turn: nothing may leave its body. */
export function guarded<Arguments extends unknown[]>(
  log: Log,
  body: (...args: Arguments) => void | Promise<void>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    try {
      await body(...args)
    } catch (error) {
      log(`unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }
}

/** Whether this is the first to handle something: the plugin may be installed twice (settings and folder, two paths). */
export function isFirst(what: string): boolean {
  const shared = globalThis as { [CLAIMS]?: Set<string> }
  const claims = (shared[CLAIMS] ??= new Set())
  if (claims.has(what)) return false
  claims.add(what)
  const [oldest] = claims
  if (claims.size > MOST_CLAIMS && oldest !== undefined) claims.delete(oldest)
  return true
}

/** Inside a process that memory itself started, nothing is recalled or kept. */
export function isOwnChild(): boolean {
  return Boolean(process.env["MEMORY_HOOK_ACTIVE"])
}

/** The line of 1.x is in use. */
export function markServed(): void {
  isServed = true
}

/** 1.18 calls both lines, the one of 2.x with a context that is too small for it. */
export function warnUnlessServed(found: readonly string[]): void {
  const check = (): void => {
    if (isServed) return
    warn(`this opencode is unknown to the plugin (it offers ${found.join(", ") || "nothing"}): nothing is remembered`)
  }
  if (found.includes("aisdk") && !found.includes("location")) setTimeout(check, PATIENCE).unref()
  else check()
}

/** `opencode run "two words"` delivers the prompt in quotes, with those inside escaped. */
export function unquoted(prompt: string): string {
  const inner = /^"((?:[^"\\]|\\[^])*)"$/.exec(prompt.trim())?.[1]
  return inner === undefined ? prompt : inner.replaceAll('\\"', '"')
}

/** The text of a list of parts: a message, or what a tool answered. */
export function textOf(parts: unknown): string {
  if (!Array.isArray(parts)) return ""
  return parts.map(asText).filter(Boolean).join("\n")
}

function asText(part: unknown): string {
  const { type, text, synthetic, ignored } = (part ?? {}) as Record<string, unknown>
  return type === "text" && typeof text === "string" && !synthetic && !ignored ? text : ""
}
