// opencode 2.x. What a hook adds to a request is not stored there, so each block is remembered with the user message
// that it belongs to and added again, byte for byte, to every later request of the session.

import { guarded, isFirst, isOwnChild, textOf, unquoted, warnUnlessServed } from "./host.ts"
import { createLog, type Log, warn } from "./log.ts"
import { Ledgers, type Message } from "./ledger.ts"
import { Sessions } from "./session.ts"
import { type Options, readSettings } from "./settings.ts"

// The parts of the plugin interface of 2.x that are used here.
export type RequestEvent = { sessionID: string; messages: Message[] }
export type PromptEvent = { sessionID: string; messageID?: string; prompt?: { text?: string } }
export type ToolEvent = {
  tool: string
  sessionID: string
  id?: string
  input?: unknown
  status?: string
  result?: { content?: unknown; output?: unknown }
}
type Hook<Name extends string, Happened> = (name: Name, callback: (event: Happened) => Promise<void>) => Promise<unknown>
export type Context = {
  options?: Options
  location?: { directory?: string }
  session?: { hook?: Hook<"prompt", PromptEvent> & Hook<"context" | "generate" | "compaction", RequestEvent> }
  tool?: { hook?: Hook<"execute.after", ToolEvent> }
}
export type Cleanup = () => Promise<void>

/** Called by 2.x, and by 1.18 with a context that has no sessions. */
export async function setup(context: Context): Promise<Cleanup | void> {
  try {
    if (isOwnChild()) return
    if (typeof context?.session?.hook !== "function") return warnUnlessServed(Object.keys(context ?? {}))
    const settings = readSettings(context.options)
    const log = createLog(settings)
    const cwd = context.location?.directory ?? process.cwd()
    return await register(context, new Sessions(settings, cwd, log), log)
  } catch (error) {
    warn(`the plugin stays off: ${String(error)}`)
  }
}

async function register({ session, tool }: Context, sessions: Sessions, log: Log): Promise<Cleanup> {
  const ledgers = new Ledgers(sessions)
  const registered: unknown[] = []
  const add = async (name: string, hook: () => Promise<unknown> | undefined): Promise<void> => {
    try {
      registered.push(await hook())
    } catch (error) {
      warn(`this opencode refuses the hook "${name}", so a part of the plugin stays off: ${String(error)}`)
    }
  }
  const prompt = guarded(log, ({ sessionID, messageID, prompt }: PromptEvent) => {
    const text = unquoted(prompt?.text ?? "")
    if (text.trim() && isFirst(`prompt ${sessionID} ${messageID ?? text}`)) ledgers.ask(sessionID, text, messageID)
  })
  const compaction = guarded(log, ({ sessionID, messages }: RequestEvent) => {
    if (!isFirst(`compaction ${sessionID} ${messages.length} ${messages.at(-1)?.id}`)) return
    sessions.compaction(sessionID, messages.map(({ role, content }) => ({ role, text: textOf(content) })))
    ledgers.clear(sessionID)
  })
  const ran = guarded(log, ({ tool, sessionID, id, input, status, result }: ToolEvent) => {
    if (status === "error" || (id !== undefined && !isFirst(`call ${sessionID} ${id}`))) return
    sessions.tool(sessionID, { tool, input, output: toolText(result) })
  })
  const context = guarded(log, ({ sessionID, messages }: RequestEvent) => ledgers.fill(sessionID, messages))
  const generate = guarded(log, ({ sessionID, messages }: RequestEvent) => ledgers.replay(sessionID, messages))
  await add("prompt", () => session?.hook?.("prompt", prompt))
  await add("context", () => session?.hook?.("context", context))
  await add("generate", () => session?.hook?.("generate", generate))
  await add("compaction", () => session?.hook?.("compaction", compaction))
  await add("execute.after", () => tool?.hook?.("execute.after", ran))
  return guarded(log, async () => {
    for (const each of registered) await (each as { dispose?: () => unknown } | undefined)?.dispose?.()
    await sessions.flush()
  })
}

function toolText(result: ToolEvent["result"]): string {
  const { content, output } = result ?? {}
  const text = [content, output].find((value) => typeof value === "string")
  return textOf(content) || (typeof text === "string" ? text : "")
}
