import assert from "node:assert/strict"
import { chmodSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"

import { findService } from "../src/address.ts"
import { readSettings } from "../src/settings.ts"
import { folder } from "./fixtures.ts"

const PUBLISHED = { url: "http://127.0.0.1:4711", mcp_url: "http://127.0.0.1:4711/mcp", port: 4711, pid: process.pid }
const DEFAULT = { url: "http://127.0.0.1:8765", token: "" }

function published(content: unknown, mode = 0o600): string {
  const path = join(folder(), "memory.db.server.json")
  writeFileSync(path, JSON.stringify(content))
  chmodSync(path, mode)
  return path
}

function found(discovery: string, env: Record<string, string> = {}): object {
  return findService(readSettings({ discovery }, env))
}

test("the service is where its private file says, with the token from there", () => {
  assert.deepEqual(found(published({ ...PUBLISHED, token: "secret" })), { url: PUBLISHED.url, token: "secret" })
})

test("a file that others may read is not believed", () => {
  assert.deepEqual(found(published({ ...PUBLISHED, token: "secret" }, 0o644)), DEFAULT)
})

test("a link, a folder and a missing file are not believed", () => {
  const link = join(folder(), "link")
  symlinkSync(published(PUBLISHED), link)
  for (const path of [link, folder(), "/nowhere/x"]) assert.deepEqual(found(path), DEFAULT)
})

test("a file of a service that has ended, or of anything else, is not believed", () => {
  for (const content of [{ ...PUBLISHED, pid: 2 ** 22 + 1 }, { ...PUBLISHED, pid: "1" }, { pid: 1 }, [], null, "x"]) {
    assert.deepEqual(found(published(content)), DEFAULT)
  }
})

test("the token from the file goes to no other address", () => {
  const path = published({ ...PUBLISHED, token: "secret" })
  assert.deepEqual(found(path, { MEMORY_PLUGIN_URL: "http://else:1" }), { url: "http://else:1", token: "" })
  assert.deepEqual(found(path, { MEMORY_PLUGIN_URL: PUBLISHED.url }), { url: PUBLISHED.url, token: "secret" })
})

test("a token from the environment wins over that in the file", () => {
  const path = published({ ...PUBLISHED, token: "secret" })
  assert.deepEqual(found(path, { MEMORY_TOKEN: "mine" }), { url: PUBLISHED.url, token: "mine" })
  assert.deepEqual(found(path, { MEMORY_TOKEN: "mine", MEMORY_PLUGIN_TOKEN: "plugin" }), {
    url: PUBLISHED.url,
    token: "plugin",
  })
})

test("a service that says nowhere where it is, is looked for at the port that the environment names", () => {
  assert.deepEqual(found("/nowhere/x", { MEMORY_PORT: "9000" }), { url: "http://127.0.0.1:9000", token: "" })
})
