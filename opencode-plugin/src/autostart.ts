// Start the service in the background if nothing answers.

import { spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { dirname } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { findService, isLoopback } from "./address.ts"
import type { Service } from "./service.ts"
import { besideDatabase } from "./settings.ts"

const MARKER = "MEMORY_MCP_LISTENING "
const PATIENCE = 30_000
const LOOK_EVERY = 50
const LOCK_IS_STALE_AFTER = 60_000

/** Resolves when a service answers, or when waiting is in vain. Call it once. */
export async function ensureStarted(service: Service): Promise<void> {
  if (await service.isUp(AbortSignal.timeout(500))) return
  if (!isLoopback(findService(service.settings).url)) return
  mkdirSync(dirname(besideDatabase(service.settings, "")), { recursive: true, mode: 0o700 })
  const lock = besideDatabase(service.settings, ".plugin-starting")
  const started = claimFile(lock) ? await start(service, lock) : await isUpSoon(service)
  service.log(started ? "the service was started" : "the service could not be started")
  if (started) service.forgive()
}

async function start(service: Service, lock: string): Promise<boolean> {
  const { command, discovery } = service.settings
  const file = besideDatabase(service.settings, ".log")
  const output = openSync(file, "a", 0o600)
  try {
    const before = statSync(file).size
    const child = spawn(command[0] ?? "", command.slice(1), {
      cwd: homedir(),
      detached: true,
      stdio: ["ignore", output, output],
      env: { ...process.env, MEMORY_HOOK_ACTIVE: "1", ...(discovery && { MEMORY_DISCOVERY_FILE: discovery }) },
    })
    let ended = false
    child.on("error", () => (ended = true)).on("exit", () => (ended = true))
    child.unref()
    return await soon(() => readFileSync(file).subarray(before).includes(MARKER), () => ended)
  } finally {
    closeSync(output)
    rmSync(lock, { force: true })
  }
}

/** Several programs that start at once start one service. */
function claimFile(path: string): boolean {
  try {
    if (Date.now() - statSync(path).mtimeMs > LOCK_IS_STALE_AFTER) rmSync(path, { force: true })
  } catch {
    // There is none.
  }
  try {
    closeSync(openSync(path, "wx", 0o600))
    return true
  } catch {
    return false
  }
}

function isUpSoon(service: Service): Promise<boolean> {
  return soon(() => service.isUp(AbortSignal.timeout(500)), () => false)
}

async function soon(found: () => boolean | Promise<boolean>, inVain: () => boolean): Promise<boolean> {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(LOOK_EVERY, undefined, { ref: false })) {
    if (await found()) return true
    if (inVain()) return false
  }
  return false
}
