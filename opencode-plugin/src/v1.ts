// opencode 1.x. A block becomes a part of the user's message, which opencode stores: later requests repeat it byte for
// byte, so the provider's prompt cache keeps working. The system prompt and earlier messages are never touched.

import type { Hooks, Plugin } from "@opencode-ai/plugin"
import type { Event, Message, Part } from "@opencode-ai/sdk"

import { guarded, isFirst, isOwnChild, markServed, textOf, unquoted } from "./host.ts"
import { createLog, warn } from "./log.ts"
import { type Said, Sessions } from "./session.ts"
import { readSettings } from "./settings.ts"

type Turn = { info: Message; parts: Part[] }

/** Called by 1.x only. */
export const server: Plugin = async (input, options) => {
  try {
    markServed()
    if (isOwnChild()) return {}
    if (typeof input?.directory !== "string") {
      warn("this opencode is unknown to the plugin (it names no directory): nothing is remembered")
      return {}
    }
    const settings = readSettings(options)
    return hooks(new Sessions(settings, input.directory, createLog(settings)))
  } catch (error) {
    warn(`the plugin stays off: ${String(error)}`)
    return {}
  }
}

function hooks(sessions: Sessions): Hooks {
  const compacting = new Set<string>()
  const withBlock = new Set<string>()
  const { log } = sessions
  return {
    "chat.message": guarded(log, async ({ sessionID }, { message, parts }) => {
      const prompt = unquoted(textOf(parts))
      if (!prompt.trim() || !isFirst(`message ${message.id}`)) return
      const recalled = await sessions.prompt(sessionID, prompt)
      if (recalled === undefined) return
      const ours = { id: idAfter(parts), sessionID, messageID: message.id, type: "text", text: recalled.block } as const
      parts.push({ ...ours, synthetic: true })
      withBlock.add(message.id)
      sessions.injected(sessionID, prompt, recalled)
    }),
    "tool.execute.after": guarded(log, ({ tool, sessionID, callID, args }, result) => {
      const output = toolText(result)
      if (output && isFirst(`call ${sessionID} ${callID}`)) sessions.tool(sessionID, { tool, input: args, output })
    }),
    "experimental.session.compacting": guarded(log, ({ sessionID }) => void compacting.add(sessionID)),
    "experimental.chat.messages.transform": guarded(log, (_, { messages }) => {
      const session = messages[0]?.info.sessionID
      if (session === undefined || !compacting.delete(session)) return
      const last = messages.at(-1)?.info.id
      if (isFirst(`compaction ${session} ${last}`)) sessions.compaction(session, messages.flatMap(said))
    }),
    event: guarded(log, ({ event }) => follow(event, sessions, withBlock)),
    dispose: () => guarded(log, () => sessions.flush())(),
  }
}

function follow(event: Event, sessions: Sessions, withBlock: Set<string>): void {
  if (event.type === "session.created") {
    const { id } = event.properties.info
    if (isFirst(`created ${id}`)) sessions.start(id, "startup")
  } else if (event.type === "session.compacted") {
    sessions.start(event.properties.sessionID, "compact")
  } else if (event.type === "message.removed" && withBlock.delete(event.properties.messageID)) {
    // The user took a turn back: what it brought in is no longer in the context.
    sessions.start(event.properties.sessionID, "clear")
  }
}

/** opencode orders parts by their ids: a longer one stands behind the one that it extends. */
function idAfter(parts: readonly Part[]): string {
  const last = parts.map(({ id }) => id ?? "").reduce((a, b) => (a > b ? a : b), "")
  return `${last || "prt_"}m`
}

/** Built-in tools answer with text, those of MCP servers with parts. */
function toolText(result: unknown): string {
  const { output, content, isError } = (result ?? {}) as Record<string, unknown>
  if (typeof output === "string") return output
  return isError === true ? "" : textOf(content)
}

/** A summary repeats what was kept when it was made. */
function said({ info, parts }: Turn): Said[] {
  const isSummary = info.role === "assistant" && info.summary === true
  return isSummary ? [] : [{ role: info.role, text: textOf(parts) }]
}
