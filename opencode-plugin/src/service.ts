// The memory service as the plugin sees it: it answers in time or not at all, and a failure is not repeated for a while.

import { findService } from "./address.ts"
import { send } from "./http.ts"
import type { Log } from "./log.ts"
import type { Settings } from "./settings.ts"

const PAUSE_AFTER_FAILURE = 10_000

export class Unanswered extends Error {}

export class Service {
  readonly settings: Settings
  readonly log: Log
  private failure = { url: "", until: 0 }

  constructor(settings: Settings, log: Log) {
    this.settings = settings
    this.log = log
  }

  /** A post for which a person waits: not tried while the last failure is fresh. */
  async ask(path: string, body: object, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { url } = findService(this.settings)
    if (this.failure.url === url && Date.now() < this.failure.until) throw new Unanswered("failed a moment ago")
    return this.post(path, body, signal)
  }

  /** The answer to a post. Throws `Unanswered` if there is none: the service is down, slow, broken or unwilling. */
  async post(path: string, body: object, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { url, token } = findService(this.settings)
    try {
      const reply = await send({ method: "POST", url: url + path, token, body: JSON.stringify(body), signal })
      if (isRefusal(reply.status)) this.log(`${path}: the service refused this request (${reply.status})`)
      return isRefusal(reply.status) ? {} : content(reply.status, reply.text)
    } catch (error) {
      this.failure = { url, until: Date.now() + PAUSE_AFTER_FAILURE }
      const reason = `${path}: no answer from ${url}: ${error instanceof Error ? error.message : String(error)}`
      this.log(reason)
      throw new Unanswered(reason)
    }
  }

  async isUp(signal: AbortSignal): Promise<boolean> {
    try {
      const { url } = findService(this.settings)
      const reply = await send({ method: "GET", url: `${url}/health`, token: "", body: "", signal })
      return reply.status === 200
    } catch {
      return false
    }
  }

  /** It was just started: do not wait for the end of the pause. */
  forgive(): void {
    this.failure = { url: "", until: 0 }
  }
}

/** This one request was wrong; the next one may be right. */
function isRefusal(status: number): boolean {
  return [400, 409, 413, 415, 422].includes(status)
}

function content(status: number, text: string): Record<string, unknown> {
  if (status < 200 || status > 299) throw new Error(`status ${status}`)
  const found: unknown = text === "" ? {} : JSON.parse(text)
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("not a JSON object")
  return found as Record<string, unknown>
}
