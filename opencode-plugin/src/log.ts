// Nothing is written unless the user asked for it: a line on stderr would end up in the middle of opencode's screen.

import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"

import { besideDatabase, isOn, type Settings } from "./settings.ts"

export type Log = (message: string) => void

/** `debug` is on (a file beside the database), `stderr`, or the path of a file. Texts and tokens are never logged. */
export function createLog(settings: Settings): Log {
  if (!isOn(settings.debug)) return () => {}
  if (settings.debug === "stderr") return (message) => void process.stderr.write(line(message))
  const file = /[/\\]/.test(settings.debug) ? settings.debug : besideDatabase(settings, ".plugin.log")
  return (message) => {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      appendFileSync(file, line(message), { mode: 0o600 })
    } catch {
      // A log that cannot be written must not cost the user a turn.
    }
  }
}

/** For what the user has to know although no log is on. */
export function warn(message: string): void {
  process.stderr.write(`memory: ${message}\n`)
}

function line(message: string): string {
  return `${new Date().toISOString()} memory: ${message}\n`
}
