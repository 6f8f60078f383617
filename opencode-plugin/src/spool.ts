// What must not be lost while no service answers goes to hook.py, which decides what is kept, redacts it and keeps it.

import { spawn } from "node:child_process"
import { homedir } from "node:os"

import type { Log } from "./log.ts"
import type { Settings } from "./settings.ts"

/** Resolves once the other process has read everything: from then on it does not need this one. */
export function handOver(settings: Settings, event: string, body: object, log: Log): Promise<void> {
  const [program, ...rest] = settings.hook
  if (program === undefined) return Promise.resolve()
  const where = settings.discovery ? ["--discovery", settings.discovery] : []
  return new Promise((resolve) => {
    const failed = (error: Error): void => {
      log(`the hook command failed: ${error.message}`)
      resolve()
    }
    const child = spawn(program, [...rest, "opencode", event, ...where], {
      cwd: homedir(),
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      env: { ...process.env, ...address(settings) },
    })
    child.on("error", failed)
    child.on("exit", () => resolve())
    child.stdin.on("error", failed)
    child.stdin.on("finish", () => resolve())
    child.stdin.end(JSON.stringify(body))
    child.unref()
  })
}

/** hook.py knows no options: what was chosen there travels in its environment. */
function address({ url, token }: Settings): Record<string, string> {
  return { ...(url && { MEMORY_PLUGIN_URL: url }), ...(token && { MEMORY_PLUGIN_TOKEN: token }) }
}
