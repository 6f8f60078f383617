// What happens in the agent's sessions, as it is told to the service. All that is clever happens there.

import { ensureStarted } from "./autostart.ts"
import type { Log } from "./log.ts"
import { Service, Unanswered } from "./service.ts"
import type { Settings } from "./settings.ts"
import { handOver } from "./spool.ts"

/** A block that may be put into the prompt. */
export type Recalled = Readonly<{ block: string; uids: string[]; chars: number; fingerprint: string; project: string }>
export type Said = Readonly<{ role: string; text: string }>
export type Ran = Readonly<{ tool: string; input: unknown; output: string }>
export type Source = "startup" | "compact" | "clear"

/** A prompt waits as long as this, all in all. */
export const BUDGET_MS = 1500
/** Nobody waits for what is only kept. */
const KEEPING_MS = 20_000
const LONGEST_TEXT = 512 * 1024
const LONGEST_ARGUMENT = 1000
const LONGEST_BLOCK = 20_000
const OWN_TOOL = /memory_(store|recall|forget|list|stats|history|conflicts|consolidate)/i
const SAME_TOOL: Readonly<Record<string, string>> = { bash: "shell", shell: "bash" }

export class Sessions {
  readonly log: Log
  private readonly service: Service
  private readonly settings: Settings
  private readonly cwd: string
  private readonly starting = new Map<string, Promise<void>>()
  private readonly pending = new Set<Promise<unknown>>()
  private ready: Promise<void> | undefined

  constructor(settings: Settings, cwd: string, log: Log) {
    this.settings = settings
    this.cwd = cwd
    this.log = log
    this.service = new Service(settings, log)
    if (settings.autostart) this.ready = this.launch()
  }

  /** The session's context starts afresh; a prompt that follows waits for it, or it would undo that prompt. */
  start(session: string, source: Source): void {
    const told = this.tell(session, { hook_event_name: "SessionStart", source }, AbortSignal.timeout(BUDGET_MS))
    const done = told.then(() => {}, () => {})
    this.starting.set(session, done)
    this.later(done.then(() => void (this.starting.get(session) === done && this.starting.delete(session))))
  }

  /** What the service recalls for a prompt, if it does so in time. */
  async prompt(session: string, prompt: string): Promise<Recalled | undefined> {
    const end = Date.now() + BUDGET_MS
    const signal = AbortSignal.timeout(BUDGET_MS)
    await before(signal, Promise.all([this.ready, this.starting.get(session)]))
    const event = { hook_event_name: "UserPromptSubmit", prompt: prompt.slice(-LONGEST_TEXT) }
    try {
      return asRecalled(await this.tell(session, event, signal, end - Date.now()))
    } catch (error) {
      if (error instanceof Unanswered) this.handOver(session, event)
      return undefined
    }
  }

  /** To be called once the block is in the prompt, never before. */
  injected(session: string, prompt: string, recalled: Recalled): void {
    const { project, uids, chars, fingerprint } = recalled
    const report = { harness: "opencode", hook: "UserPromptSubmit", session, query: prompt.slice(0, 2000) }
    const body = { ...report, ...(project ? { project } : { cwd: this.cwd }), uids, chars, fingerprint }
    this.later(this.service.post("/inject/report", body, AbortSignal.timeout(KEEPING_MS)))
  }

  tool(session: string, { tool, input, output }: Ran): void {
    if (!output.trim() || !this.isCaptured(tool)) return
    const call = { tool_name: tool, tool_input: brief(input), tool_response: output.slice(0, LONGEST_TEXT) }
    const event = { hook_event_name: "PostToolUse", ...call }
    this.later(this.tell(session, event, AbortSignal.timeout(KEEPING_MS), KEEPING_MS))
  }

  /** Text that is about to be compacted away. */
  compaction(session: string, said: readonly Said[]): void {
    const messages = lastOf(said)
    if (messages.length === 0) return
    const event = { hook_event_name: "PreCompact", messages }
    const body = this.body(session, event, KEEPING_MS)
    const told = this.service.post("/hook/opencode", body, AbortSignal.timeout(KEEPING_MS))
    this.later(told.catch((error: unknown) => void (error instanceof Unanswered && this.handOver(session, event))))
  }

  /** Wait for what is still being sent, but not for ever. */
  async flush(): Promise<void> {
    await before(AbortSignal.timeout(BUDGET_MS), this.settled())
  }

  private async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.allSettled(this.pending)
  }

  private isCaptured(tool: string): boolean {
    const name = tool.toLowerCase()
    const wanted = this.settings.toolCapture
    if (OWN_TOOL.test(name)) return false
    return [name, SAME_TOOL[name] ?? name, "*"].some((candidate) => wanted.includes(candidate))
  }

  private tell(session: string, event: object, signal: AbortSignal, budget = BUDGET_MS): ReturnType<Service["ask"]> {
    return this.service.ask("/hook/opencode", this.body(session, event, budget), signal)
  }

  private body(session: string, event: object, budget: number): object {
    const { limit, budgetChars, toolCapture, chatCapture } = this.settings
    const memory = { budget_ms: Math.max(0, budget), limit, budget_chars: budgetChars }
    const capture = { tool_capture: toolCapture, chat_capture: chatCapture }
    return { ...event, session_id: session, cwd: this.cwd, memory: { ...memory, ...capture } }
  }

  private handOver(session: string, event: { hook_event_name: string }): void {
    const body = this.body(session, event, BUDGET_MS)
    this.later(handOver(this.settings, event.hook_event_name, body, this.log))
  }

  private later(work: Promise<unknown>): void {
    const done = work.catch((error: unknown) => {
      if (!(error instanceof Unanswered)) this.log(`unexpected: ${String(error)}`)
    })
    this.pending.add(done)
    void done.finally(() => this.pending.delete(done))
  }

  private async launch(): Promise<void> {
    try {
      await ensureStarted(this.service)
    } catch (error) {
      this.log(`the service could not be started: ${String(error)}`)
    }
    this.ready = undefined
  }
}

/** Wait for something until the signal comes, whatever becomes of it. */
function before(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true })
    work.then(() => resolve(), () => resolve())
  })
}

function asRecalled(answer: Record<string, unknown>): Recalled | undefined {
  const { block, uids, chars, fingerprint, project } = answer
  if (typeof block !== "string" || block === "" || block.length > LONGEST_BLOCK) return undefined
  return {
    block,
    uids: Array.isArray(uids) ? uids.filter((uid) => typeof uid === "string") : [],
    chars: typeof chars === "number" ? chars : block.length,
    fingerprint: typeof fingerprint === "string" ? fingerprint : "",
    project: typeof project === "string" ? project : "",
  }
}

/** What a tool was called with, without the files that it may have been given whole. */
function brief(input: unknown): Record<string, string> {
  const entries = Object.entries((input ?? {}) as Record<string, unknown>)
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === "string")
  return Object.fromEntries(texts.map(([name, text]) => [name, text.slice(0, LONGEST_ARGUMENT)]))
}

/** The newest messages that fit into a request, in order. */
function lastOf(said: readonly Said[]): Said[] {
  const kept: Said[] = []
  let room = LONGEST_TEXT
  for (const { role, text } of said.toReversed()) {
    if (room <= 0) break
    if (text.trim()) kept.unshift({ role, text: text.slice(-room) })
    room -= text.length
  }
  return kept
}
