import assert from "node:assert/strict"
import { existsSync, readFileSync, statSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import test, { type TestContext } from "node:test"

import { folder, HostV1, HostV2, serve, timed, until } from "./fixtures.ts"

const PROGRAM = join(import.meta.dirname, "programs/service.ts")

delete process.env["MEMORY_DISCOVERY_FILE"]

/** Options that lead to a service which takes some time to start, and the processes that were started. */
function startable(t: TestContext, milliseconds: number): { options: object; starts: () => string[][] } {
  const discovery = join(folder(), "data", "memory.db.server.json")
  const list = `${discovery}.starts`
  const starts = (): string[][] => {
    const lines = existsSync(list) ? readFileSync(list, "utf8").trim().split("\n") : []
    return lines.map((line) => line.split(" "))
  }
  t.after(() => starts().forEach(([pid]) => end(Number(pid))))
  return { options: { discovery, autostart: true, command: [process.execPath, PROGRAM, `${milliseconds}`] }, starts }
}

function end(pid: number): void {
  try {
    process.kill(pid)
  } catch {
    // It has ended.
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test("a service is started once, and the first prompt waits for it", async (t) => {
  const { options, starts } = startable(t, 0)
  const host = await HostV1.with({ ...options })
  assert.equal((await host.say("hello")).length, 2)
  assert.equal((await host.say("again")).length, 2)
  assert.equal(starts().length, 1)
})

test("a slow start does not hold a prompt up longer than the budget; later prompts have their block", async (t) => {
  const { options, starts } = startable(t, 2500)
  const host = await HostV2.with({ ...options })
  await host.say("hello")
  const first = await timed(() => host.request())
  assert.ok(first < 2400, `${first} ms`)
  const { discovery } = options as { discovery: string }
  await until(() => existsSync(discovery))
  for (let n = 0; (await host.request()).at(-1)?.content.length === 1; n++) {
    assert.ok(n < 200)
    await host.say(`prompt ${n}`)
  }
  assert.equal(starts().length, 1)
})

test("after a start the service is asked at once, although prompts before it failed", async (t) => {
  const { options, starts } = startable(t, 1800)
  const port = await freePort()
  const command = [process.execPath, PROGRAM, "1800", `${port}`]
  const host = await HostV1.with({ ...options, url: `http://127.0.0.1:${port}`, command })
  assert.equal((await host.say("too early")).length, 1)
  const waited = await timed(async () => {
    while ((await host.say("hello")).length === 1);
  })
  assert.ok(waited < 4000, `${waited} ms`)
  assert.equal(starts().length, 1)
})

test("a service that ended is started again by the next opencode", async (t) => {
  const { options, starts } = startable(t, 0)
  await (await HostV1.with({ ...options })).say("hello")
  process.kill(Number(starts()[0]?.[0]), "SIGKILL")
  const next = await HostV1.with({ ...options })
  assert.equal((await next.say("hello")).length, 2)
  assert.equal(starts().length, 2)
})

test("ten at once start one", async (t) => {
  const { options, starts } = startable(t, 100)
  const hosts = await Promise.all(Array.from({ length: 10 }, () => HostV1.with({ ...options })))
  const parts = await Promise.all(hosts.map((host) => host.say("hello")))
  assert.deepEqual(parts.map(({ length }) => length), Array(10).fill(2))
  assert.equal(starts().length, 1)
})

test("what is started knows that its own agents must not start it again, and logs to a private file", async (t) => {
  const { options, starts } = startable(t, 0)
  const host = await HostV1.with({ ...options })
  await host.say("hello")
  assert.equal(starts()[0]?.[1], "1")
  const { discovery } = options as { discovery: string }
  const log = discovery.replace(".server.json", ".log")
  assert.match(readFileSync(log, "utf8"), /MEMORY_MCP_LISTENING/)
  assert.equal(statSync(log).mode & 0o777, 0o600)
})

test("nothing is started without being asked for, beside a running service, or for another machine", async (t) => {
  const service = await serve(t)
  const { options, starts } = startable(t, 0)
  for (const more of [{ autostart: false }, { url: service.url }, { url: "http://192.0.2.1:1" }]) {
    await (await HostV1.with({ ...options, ...more })).say("hello")
  }
  assert.deepEqual(starts(), [])
})

test("a command that cannot be started, or ends at once, holds no prompt up", async (t) => {
  for (const command of [["/nowhere/memory-mcp"], [process.execPath, "-e", "process.exit(1)"]]) {
    const { options } = startable(t, 0)
    const host = await HostV1.with({ ...options, command })
    assert.ok((await timed(() => host.say("hello"))) < 2400)
    assert.ok((await timed(() => host.say("again"))) < 900)
  }
})
