import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"

import { send } from "../src/http.ts"
import { answers, folder, HostV1, HostV2, NOWHERE, serve, timed } from "./fixtures.ts"

const FAULTS = Object.keys(answers).filter((name) => !["block", "nothing"].includes(name))
const BUDGET = 1500
const SLACK = 900

for (const fault of FAULTS) {
  test(`a service that answers ${fault} costs a prompt at most the budget, and the next ones nothing`, async (t) => {
    const service = await serve(t, answers[fault])
    const [one, two] = [await HostV1.with({ url: service.url }), await HostV2.with({ url: service.url })]
    const v1 = await timed(async () => assert.equal((await one.say("hello")).length, 1))
    await two.say("hello")
    const v2 = await timed(async () => assert.equal((await two.request())[0]?.content.length, 1))
    const next = await timed(async () => {
      for (let n = 0; n < 5; n++) await one.say("more")
    })
    assert.ok(v1 < BUDGET + SLACK && v2 < BUDGET + SLACK, `${v1} ms, ${v2} ms`)
    if (!["the wrong types", "an endless block"].includes(fault)) assert.ok(next < SLACK, `${next} ms for five more`)
    await Promise.all([one.hooks.dispose?.(), two.cleanup?.()])
    assert.deepEqual(service.reports(), [])
  })
}

test("nothing listens, the address is nonsense or its scheme is unknown: prompts go on at once", async () => {
  for (const url of [NOWHERE, "nonsense", "ftp://127.0.0.1/", "http://127.0.0.1:99999"]) {
    const host = await HostV1.with({ url })
    assert.ok((await timed(() => host.say("hello"))) < SLACK, url)
  }
})

test("a service that hangs is asked again after ten seconds, and then used", async (t) => {
  const service = await serve(t, answers["status 500"])
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() })
  const host = await HostV1.with({ url: service.url })
  await host.say("one")
  service.behave = answers["block"] as never
  assert.equal((await host.say("two")).length, 1)
  assert.equal(service.told("UserPromptSubmit").length, 1)
  t.mock.timers.tick(10_001)
  assert.equal((await host.say("three")).length, 2)
})

test("a service that comes up at another address is used at once", async (t) => {
  delete process.env["MEMORY_DISCOVERY_FILE"]
  t.after(() => (process.env["MEMORY_DISCOVERY_FILE"] = "off"))
  const discovery = join(folder(), "memory.db.server.json")
  const host = await HostV1.with({ discovery })
  for (const behaviour of ["status 500", "block"]) {
    const { url } = await serve(t, answers[behaviour])
    writeFileSync(discovery, JSON.stringify({ url, pid: process.pid }), { mode: 0o600 })
    assert.equal((await host.say("hello")).length, behaviour === "block" ? 2 : 1)
  }
})

test("text about to be compacted is sent although a prompt failed a moment ago", async (t) => {
  const service = await serve(t, answers["status 500"])
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  await host.say("we chose Postgres")
  service.behave = answers["block"] as never
  await host.ran("bash", { output: "a.py" })
  await host.compact()
  await host.hooks.dispose?.()
  assert.deepEqual(service.told("PreCompact")[0]?.["messages"], [{ role: "user", text: "we chose Postgres" }])
  assert.deepEqual(service.told("PostToolUse"), [])
})

test("a request that the service refuses does not stop the next one", async (t) => {
  const service = await serve(t, (_, response) => response.writeHead(422).end("{}"))
  const host = await HostV1.with({ url: service.url })
  await host.say("one")
  service.behave = answers["block"] as never
  assert.equal((await host.say("two")).length, 2)
})

test("a hanging service delays a first prompt no longer although the session starts too", async (t) => {
  const service = await serve(t, answers["never"])
  const host = await HostV1.with({ url: service.url })
  void host.event("session.created", { info: { id: host.session } })
  assert.ok((await timed(() => host.say("hello"))) < BUDGET + SLACK)
})

test("an answer of several megabytes is not taken in", async (t) => {
  const service = await serve(t, (_, response) => void response.end(`"${"x".repeat(3_000_000)}"`))
  const request = { method: "GET", url: service.url, token: "", body: "", signal: AbortSignal.timeout(5000) } as const
  await assert.rejects(send(request), /too long/)
})

test("what is only kept does not hold up the turn", async (t) => {
  const service = await serve(t, answers["never"])
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  host.answer("text")
  const kept = await timed(async () => {
    await host.ran("bash", { output: "a.py" })
    await host.compact()
  })
  assert.ok(kept < SLACK, `${kept} ms`)
  assert.ok((await timed(async () => host.hooks.dispose?.())) < BUDGET + SLACK)
})
