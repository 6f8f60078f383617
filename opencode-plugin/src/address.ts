// Where the service is, and which token may be sent there.

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"

import type { Settings } from "./settings.ts"

export type Address = Readonly<{ url: string; token: string }>

const LARGEST_FILE = 64 * 1024

/** Read anew each time: a service that was restarted may listen elsewhere. The token of the file goes nowhere else. */
export function findService(settings: Settings): Address {
  const published = settings.discovery ? readDiscovery(settings.discovery) : undefined
  const url = settings.url || published?.url || settings.defaultUrl
  return { url, token: settings.token || (published?.url === url ? published.token : "") }
}

export function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}

function readDiscovery(path: string): Address | undefined {
  try {
    const found: unknown = JSON.parse(readPrivate(path))
    const { url, pid, token } = found as Record<string, unknown>
    if (typeof url !== "string" || typeof pid !== "number" || !isAlive(pid)) return undefined
    return { url: url.replace(/\/+$/, ""), token: typeof token === "string" ? token : "" }
  } catch {
    return undefined
  }
}

/** The content of a regular file that belongs to this user and that nobody else may read. */
function readPrivate(path: string): string {
  const handle = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  try {
    const status = fstatSync(handle)
    const mine = process.getuid === undefined || (status.uid === process.getuid() && (status.mode & 0o077) === 0)
    if (!status.isFile() || !mine) throw new Error("not a private file of this user")
    const buffer = Buffer.alloc(LARGEST_FILE)
    return buffer.toString("utf8", 0, readSync(handle, buffer, 0, LARGEST_FILE, 0))
  } finally {
    closeSync(handle)
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
