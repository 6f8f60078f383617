// For opencode 2.x: which block stands behind which message of the user.

import { isFirst, textOf } from "./host.ts"
import type { Recalled, Sessions } from "./session.ts"

export type Message = { id?: string; role: string; content: readonly unknown[] }

type Asked = Readonly<{ id: string | undefined; text: string; answer: Promise<Recalled | undefined> }>
type Ledger = { isStarted: boolean; blocks: Map<string, string>; asked: Asked[] }
type Place = Readonly<{ index: number; key: string; message: Message; isLast: boolean }>

export class Ledgers {
  private readonly sessions: Sessions
  private readonly ledgers = new Map<string, Ledger>()

  constructor(sessions: Sessions) {
    this.sessions = sessions
  }

  /** Start to recall for a prompt; the request that it leads to waits for the answer. */
  ask(session: string, text: string, id?: string): void {
    const ledger = this.of(session)
    // Blocks of an earlier process are in no request any more.
    if (!ledger.isStarted) this.sessions.start(session, "startup")
    ledger.isStarted = true
    ledger.asked.push({ id, text, answer: this.sessions.prompt(session, text) })
  }

  /** Bring the blocks into a request: those it had before and the one for a new prompt. */
  async fill(session: string, messages: Message[]): Promise<void> {
    const { blocks } = this.of(session)
    for (const place of places(messages)) {
      if (!blocks.has(place.key)) blocks.set(place.key, await this.blockFor(session, messages, place))
      else put(messages, place, blocks.get(place.key))
    }
  }

  /** Bring in what earlier requests had, nothing new. */
  replay(session: string, messages: Message[]): void {
    const blocks = this.ledgers.get(session)?.blocks
    for (const place of places(messages)) put(messages, place, blocks?.get(place.key))
  }

  /** The context was replaced by a summary: nothing of what was brought in is left. */
  clear(session: string): void {
    this.ledgers.set(session, { isStarted: true, blocks: new Map(), asked: [] })
    this.sessions.start(session, "compact")
  }

  private of(session: string): Ledger {
    const known = this.ledgers.get(session)
    const ledger = known ?? { isStarted: false, blocks: new Map(), asked: [] }
    if (known === undefined) this.ledgers.set(session, ledger)
    return ledger
  }

  private async blockFor(session: string, messages: Message[], place: Place): Promise<string> {
    const asked = isFirst(`context ${session} ${place.key}`) ? this.askedFor(session, place) : undefined
    const recalled = await asked?.answer
    if (asked === undefined || recalled === undefined) return ""
    put(messages, place, recalled.block)
    this.sessions.injected(session, asked.text, recalled)
    return recalled.block
  }

  /** What was asked for this very message, or else for the newest one; asked now if no hook told of the prompt. */
  private askedFor(session: string, { message, isLast }: Place): Asked | undefined {
    const { asked } = this.of(session)
    const text = textOf(message.content)
    const found = asked.findIndex((each) => each.text === text || (each.id !== undefined && each.id === message.id))
    if (found >= 0) return asked.splice(found, 1)[0]
    if (!isLast) return undefined
    if (asked.length === 0 && text.trim()) this.ask(session, text)
    return asked.shift()
  }
}

function places(messages: readonly Message[]): Place[] {
  const entries = [...messages.entries()].filter(([, message]) => isOfUser(message))
  return entries.map(([index, message], position) => {
    const key = message.id ?? `${position} ${textOf(message.content)}`
    return { index, key, message, isLast: position === entries.length - 1 }
  })
}

function isOfUser({ role, content }: Message): boolean {
  return role === "user" && Array.isArray(content)
}

/** The host checks the class of a message and may share it with other requests: it is replaced, never changed. */
function put(messages: Message[], { index, message }: Place, block: string | undefined): void {
  if (!block) return
  const content = [...message.content, { type: "text", text: block }]
  const empty: object = Object.create(Object.getPrototypeOf(message) as object | null)
  messages[index] = Object.assign(empty, message, { content })
}
