import assert from "node:assert/strict"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"

import { folder, HostV1, NOWHERE } from "./fixtures.ts"

delete process.env["MEMORY_DISCOVERY_FILE"]

async function fail(debug: unknown): Promise<string> {
  const discovery = join(folder(), "new", "memory.db.server.json")
  const host = await HostV1.with({ url: NOWHERE, token: "secret-token", discovery, debug })
  await host.say("a private prompt")
  return discovery.replace(".server.json", ".plugin.log")
}

test("without debug nothing is written, not even while nothing works", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  for (const off of [undefined, "", "0", 0, false]) assert.ok(!existsSync(await fail(off)))
  assert.equal(write.mock.callCount(), 0)
})

test("with debug a private file says what went wrong, without prompts and tokens", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  const file = await fail(true)
  const text = readFileSync(file, "utf8")
  assert.match(text, /no answer from http:\/\/127\.0\.0\.1:9/)
  assert.doesNotMatch(text, /private prompt|secret-token/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(write.mock.callCount(), 0)
})

test("debug can name a file, or standard error", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  const file = join(folder(), "memory.log")
  await fail(file)
  assert.match(readFileSync(file, "utf8"), /no answer/)
  await fail("stderr")
  assert.match(String(write.mock.calls[0]?.arguments[0]), /no answer/)
})
