import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"

import { answers, folder, HostV1, HostV2, NOWHERE, serve, timed, until } from "./fixtures.ts"

const PROGRAM = join(import.meta.dirname, "programs/hook.ts")

type Kept = { argv: string[]; url?: string; token?: string; body: Record<string, any> }

function hook(): { command: string[]; kept: (count: number) => Promise<Kept[]> } {
  const out = folder()
  const files = (): string[] => readdirSync(out).filter((name) => name.endsWith(".json"))
  const read = (name: string): Kept => JSON.parse(readFileSync(join(out, name), "utf8")) as Kept
  const kept = async (count: number): Promise<Kept[]> => {
    await until(() => files().length >= count, `${count} calls of the hook command`)
    return files().map(read)
  }
  return { command: [process.execPath, PROGRAM, out], kept }
}

test("without a service, prompts go to the hook command, which keeps what must not be lost", async () => {
  const { command, kept } = hook()
  const host = await HostV1.with({ url: NOWHERE, token: "secret", hook: command })
  assert.equal((await host.say("remember that main is protected")).length, 1)
  const [call] = await kept(1)
  assert.deepEqual(call?.argv, ["opencode", "UserPromptSubmit"])
  assert.deepEqual([call.url, call.token], [NOWHERE, "secret"])
  assert.equal(call.body["prompt"], "remember that main is protected")
  assert.equal(call.body["session_id"], host.session)
  assert.equal(call.body["cwd"], "/work/shop")
})

test("the hook command is told which discovery file was chosen", async (t) => {
  delete process.env["MEMORY_DISCOVERY_FILE"]
  t.after(() => (process.env["MEMORY_DISCOVERY_FILE"] = "off"))
  const { command, kept } = hook()
  const host = await HostV1.with({ url: NOWHERE, hook: command, discovery: "/data/m.db.server.json" })
  await host.say("remember that main is protected")
  const [call] = await kept(1)
  assert.deepEqual(call?.argv, ["opencode", "UserPromptSubmit", "--discovery", "/data/m.db.server.json"])
})

test("text about to be compacted goes to the hook command on both lines, however long it is", async () => {
  for (const Host of [HostV1, HostV2]) {
    const { command, kept } = hook()
    const host = await Host.with({ url: NOWHERE, hook: command })
    host.answer("x".repeat(400_000))
    await (host instanceof HostV1 ? host.compact() : host.request("compaction"))
    const [call] = await kept(1)
    assert.deepEqual(call?.argv, ["opencode", "PreCompact"])
    assert.equal(call.body["messages"][0].text.length, 400_000)
  }
})

test("also while the service is not asked because it failed a moment ago", async (t) => {
  const service = await serve(t, answers["status 500"])
  const { command, kept } = hook()
  const host = await HostV1.with({ url: service.url, hook: command })
  await host.say("one")
  await host.say("remember two")
  assert.equal(service.told("UserPromptSubmit").length, 1)
  assert.deepEqual((await kept(2)).map(({ body }) => body["prompt"]).toSorted(), ["one", "remember two"])
})

test("tool output is not handed over, nor is anything while the service answers", async (t) => {
  const service = await serve(t)
  const { command, kept } = hook()
  const up = await HostV1.with({ url: service.url, hook: command, tool_capture: "*" })
  await up.say("hello")
  await up.compact()
  await up.hooks.dispose?.()
  const down = await HostV1.with({ url: NOWHERE, hook: command, tool_capture: "*" })
  await down.ran("bash", { output: "a.py" })
  await down.hooks.dispose?.()
  await down.say("the only one")
  assert.equal((await kept(1)).length, 1)
})

test("a hook command that does not exist or ends at once harms nobody", async () => {
  for (const command of [["/nowhere/python"], [process.execPath, "-e", "process.exit(1)"]]) {
    const host = await HostV1.with({ url: NOWHERE, hook: command })
    host.answer("x".repeat(400_000))
    await host.say("hello")
    await host.compact()
    assert.ok((await timed(async () => host.hooks.dispose?.())) < 2000)
  }
})
