// Start the service in the background if nothing answers.

import { spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync } from "node:fs"
import { homedir } from "node:os"
import { dirname } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { findService, isLoopback } from "./address.ts"
import type { Service } from "./service.ts"
import { besideDatabase } from "./settings.ts"

const PATIENCE = 30_000
const LOOK_EVERY = 50

/** Resolves when a service answers, or when waiting is in vain. Call it once. */
export async function ensureStarted(service: Service): Promise<void> {
  if (await service.isUp(AbortSignal.timeout(500))) return
  if (!isLoopback(findService(service.settings).url)) return
  mkdirSync(dirname(besideDatabase(service.settings, "")), { recursive: true, mode: 0o700 })
  const started = await start(service)
  service.log(started ? "the service was started" : "the service could not be started")
  if (started) service.forgive()
}

/** Of several that are started at once, by other programs' hooks too, one stays; the others end without an error. */
async function start(service: Service): Promise<boolean> {
  const { command, discovery } = service.settings
  const output = openSync(besideDatabase(service.settings, ".log"), "a", 0o600)
  try {
    const child = spawn(command[0] ?? "", command.slice(1), {
      cwd: homedir(),
      detached: true,
      stdio: ["ignore", output, output],
      env: { ...process.env, MEMORY_HOOK_ACTIVE: "1", ...(discovery && { MEMORY_DISCOVERY_FILE: discovery }) },
    })
    let failed = false
    child.on("error", () => (failed = true)).on("exit", (code) => (failed = code !== 0))
    child.unref()
    return await soon(() => service.isUp(AbortSignal.timeout(500)), () => failed)
  } finally {
    closeSync(output)
  }
}

async function soon(found: () => boolean | Promise<boolean>, inVain: () => boolean): Promise<boolean> {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(LOOK_EVERY, undefined, { ref: false })) {
    if (await found()) return true
    if (inVain()) return false
  }
  return false
}
