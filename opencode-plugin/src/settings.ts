// What the user chose: the environment wins over the plugin's options, those over the defaults.

import { homedir } from "node:os"
import { join } from "node:path"

export type Settings = Readonly<{
  url: string
  /** Where a service is that says so nowhere. */
  defaultUrl: string
  token: string
  limit: number
  budgetChars: number
  toolCapture: readonly string[]
  chatCapture: boolean
  autostart: boolean
  debug: string
  /** The file in which a running service says where it is; empty: look for none. */
  discovery: string
  /** The command of hook.py, which keeps what must not be lost while no service answers. */
  hook: readonly string[]
  /** What starts a service. */
  command: readonly string[]
}>

export type Options = Readonly<Record<string, unknown>>
export type Environment = Readonly<Record<string, string | undefined>>

export function readSettings(options: Options = {}, env: Environment = process.env): Settings {
  const text = (name: string): string => env[variable(name)]?.trim() || asText(options[name])
  const list = (name: string): string[] => asList(env[variable(name)] ?? options[name])
  return {
    url: text("url").replace(/\/+$/, ""),
    defaultUrl: `http://127.0.0.1:${env["MEMORY_PORT"]?.trim() || 8765}`,
    token: env["MEMORY_PLUGIN_TOKEN"] || env["MEMORY_TOKEN"] || asText(options["token"]),
    limit: whole(text("limit"), 5, 50),
    budgetChars: whole(text("budget_chars"), 2000, 100_000),
    toolCapture: list("tool_capture").map((name) => name.toLowerCase()),
    chatCapture: isOn(text("chat_capture")),
    autostart: isOn(text("autostart")),
    debug: text("debug"),
    discovery: discoveryFile(options, env),
    hook: list("hook"),
    command: list("command").length > 0 ? list("command") : ["memory-mcp"],
  }
}

export function isOn(value: string): boolean {
  return !["", "0", "false", "no", "off"].includes(value.toLowerCase())
}

/** The path of a file beside the database, for instance its log. */
export function besideDatabase(settings: Settings, ending: string): string {
  return (settings.discovery || defaultDiscovery()).replace(/\.server\.json$/, "") + ending
}

function discoveryFile(options: Options, env: Environment): string {
  const database = env["MEMORY_DB_PATH"]?.trim()
  const chosen =
    env["MEMORY_DISCOVERY_FILE"]?.trim() ||
    asText(options["discovery"]) ||
    (database ? `${database}.server.json` : defaultDiscovery())
  return chosen === "off" ? "" : chosen.replace(/^~(?=\/)/, homedir())
}

function defaultDiscovery(): string {
  return join(homedir(), ".local/share/memory-mcp/memory.db.server.json")
}

function variable(name: string): string {
  return `MEMORY_PLUGIN_${name.toUpperCase()}`
}

function asText(value: unknown): string {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value).trim() : ""
}

function asList(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : asText(value).split(",")
  return items.map(asText).filter((item) => item !== "")
}

function whole(value: string, fallback: number, most: number): number {
  const number = Number(value)
  return value !== "" && Number.isInteger(number) && number >= 1 ? Math.min(number, most) : fallback
}
