import assert from "node:assert/strict"
import test from "node:test"

import type { PluginInput, PluginModule } from "@opencode-ai/plugin"

import plugin from "../memory.ts"
import { answers, BLOCK, HostV1, RECALLED, serve, until } from "./fixtures.ts"

test("the export is a plugin of 1.x to the compiler", () => {
  const module: PluginModule = plugin
  assert.equal(module.id, "memsite")
})

test("a recalled block becomes a hidden, stored part behind the prompt, and is reported afterwards", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, limit: 3, budget_chars: 800 })
  const [prompt, ours, ...rest] = await host.say("when does the deploy key rotate?")
  assert.deepEqual(rest, [])
  assert.equal(prompt?.text, "when does the deploy key rotate?")
  assert.equal(ours?.text, BLOCK)
  assert.equal(ours.synthetic, true)
  assert.equal(ours.messageID, prompt.messageID)
  assert.ok(ours.id > prompt.id && ours.id.startsWith("prt"))
  const [asked] = service.told("UserPromptSubmit")
  assert.equal(asked?.["prompt"], "when does the deploy key rotate?")
  assert.equal(asked["cwd"], "/work/shop")
  assert.deepEqual([asked["memory"].limit, asked["memory"].budget_chars], [3, 800])
  const [report] = await until(() => service.reports().length > 0 && service.reports())
  const { uids, chars, fingerprint, project } = RECALLED
  const expected = { harness: "opencode", hook: "UserPromptSubmit", session: host.session, query: prompt.text }
  assert.deepEqual(report, { ...expected, project, uids, chars, fingerprint })
})

test("a token goes along with every call", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, token: "secret" })
  await host.say("hello")
  await host.hooks.dispose?.()
  assert.deepEqual(service.calls.map(({ token }) => token), ["Bearer secret", "Bearer secret"])
})

test("nothing relevant: the prompt stays as it is and nothing is reported", async (t) => {
  const service = await serve(t, answers["nothing"])
  const host = await HostV1.with({ url: service.url })
  assert.equal((await host.say("hello")).length, 1)
  await host.hooks.dispose?.()
  assert.deepEqual(service.reports(), [])
})

test("an answer that comes too late is neither injected nor reported", async (t) => {
  const service = await serve(t, (call, response) => {
    if (call.body["hook_event_name"] === "UserPromptSubmit") setTimeout(() => answers["block"]?.(call, response), 1700)
  })
  const host = await HostV1.with({ url: service.url })
  assert.equal((await host.say("hello")).length, 1)
  await new Promise((resolve) => setTimeout(resolve, 400))
  assert.equal(host.history[0]?.parts.length, 1)
  assert.deepEqual(service.reports(), [])
})

test("only what the user typed is the prompt", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  await host.say("look at @a.py", { text: "content of a.py", synthetic: true }, { text: "old", ignored: true })
  await host.say("", { text: "The user ran a command", synthetic: true })
  assert.deepEqual(service.told("UserPromptSubmit").map(({ prompt }) => prompt), ["look at @a.py"])
})

test("quotes that `opencode run` puts round a prompt are taken off, others stay", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  await host.say('"remember that \\"main\\" is protected"')
  await host.say('"one" and "two"')
  const prompts = service.told("UserPromptSubmit").map(({ prompt }) => prompt)
  assert.deepEqual(prompts, ['remember that "main" is protected', '"one" and "two"'])
})

test("earlier messages and the system prompt are left alone", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  await host.say("first")
  host.answer("done")
  const before = JSON.stringify(host.history)
  await host.say("second")
  await host.request()
  assert.equal(JSON.stringify(host.history.slice(0, 2)), before)
  assert.equal(host.hooks["experimental.chat.system.transform"], undefined)
})

test("a prompt is told only after its session has started afresh", async (t) => {
  let started = false
  const service = await serve(t, (call, response) => {
    if (call.body["hook_event_name"] === "SessionStart") {
      setTimeout(() => {
        started = true
        answers["nothing"]?.(call, response)
      }, 200)
    } else answers[started ? "block" : "nothing"]?.(call, response)
  })
  const host = await HostV1.with({ url: service.url })
  void host.event("session.created", { info: { id: host.session } })
  assert.equal((await host.say("hello")).length, 2)
  assert.equal(service.told("SessionStart")[0]?.["source"], "startup")
})

test("text about to be compacted is kept without summaries and hidden parts, then the session starts afresh", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  host.answer("summary of earlier", { summary: true })
  await host.say("we chose Postgres", { text: "a file", synthetic: true })
  host.answer("noted")
  await host.request()
  assert.deepEqual(service.told("PreCompact"), [])
  await host.compact()
  await until(() => service.told("PreCompact").length > 0 && service.told("SessionStart").length > 0)
  const [kept] = service.told("PreCompact")
  assert.deepEqual(kept?.["messages"], [
    { role: "user", text: "we chose Postgres" },
    { role: "assistant", text: "noted" },
  ])
  assert.equal(service.told("SessionStart")[0]?.["source"], "compact")
  await host.say("and now")
  await host.request()
  await host.hooks.dispose?.()
  assert.equal(service.told("PreCompact").length, 1)
})

test("of a very long session the newest half megabyte is kept", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  for (let n = 0; n < 4; n++) host.answer(`${n}`.repeat(200_000))
  await host.compact()
  const [kept] = await until(() => service.told("PreCompact").length > 0 && service.told("PreCompact"))
  const texts: string[] = kept?.["messages"].map(({ text }: { text: string }) => text)
  assert.equal(texts.join("").length, 512 * 1024)
  assert.deepEqual(texts.map((text) => text[0]), ["1", "2", "3"])
})

test("the session starts afresh when a turn with a block is taken back", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  const [prompt] = await host.say("hello")
  await host.event("message.removed", { sessionID: host.session, messageID: "another" })
  await host.event("message.removed", { sessionID: host.session, messageID: prompt?.messageID })
  const starts = await until(() => service.told("SessionStart").length > 0 && service.told("SessionStart"))
  assert.deepEqual(starts.map(({ source }) => source), ["clear"])
})

test("output of chosen tools only is kept, of our own tools never", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: ["Shell", "docs_search", "memory_memory_recall"] })
  await host.ran("bash", { title: "ls", output: "a.py" })
  await host.ran("read", { title: "a", output: "not chosen" })
  await host.ran("docs_search", { content: [{ type: "text", text: "one" }, { type: "image" }, { type: "text", text: "two" }] })
  await host.ran("docs_search", { content: [{ type: "text", text: "no such page" }], isError: true })
  await host.ran("memory_memory_recall", { content: [{ type: "text", text: "our own" }] })
  await host.ran("bash", { title: "true", output: "\n" })
  await host.hooks.dispose?.()
  const kept = service.told("PostToolUse").map(({ tool_name, tool_response }) => [tool_name, tool_response])
  assert.deepEqual(kept.toSorted(), [["bash", "a.py"], ["docs_search", "one\ntwo"]])
})

test("output is kept with what the tool was called with, but not with whole files", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: "write" })
  await host.ran("write", { output: "Wrote it" }, { filePath: "a.py", content: "x".repeat(100_000), lines: [1, 2] })
  await host.hooks.dispose?.()
  assert.deepEqual(service.told("PostToolUse")[0]?.["tool_input"], { filePath: "a.py", content: "x".repeat(1000) })
})

test("no tool output leaves opencode unless tools were chosen", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url })
  await host.ran("bash", { output: "a.py" })
  await host.hooks.dispose?.()
  assert.deepEqual(service.calls, [])
})

test("with * every tool but our own is kept", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  await host.ran("read", { output: "text" })
  await host.ran("mymemory_memory_list", { content: [{ type: "text", text: "our own" }] })
  await host.hooks.dispose?.()
  assert.deepEqual(service.told("PostToolUse").map(({ tool_name }) => tool_name), ["read"])
})

test("installed twice, it works once", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  const copy = await HostV1.with({ url: service.url, tool_capture: "*" })
  const names = ["chat.message", "tool.execute.after", "experimental.chat.messages.transform"] as const
  for (const name of names) {
    const [one, two] = [host.hooks[name], copy.hooks[name]] as ((...args: unknown[]) => Promise<void>)[]
    host.hooks[name] = (async (...args: unknown[]) => {
      await one?.(...args)
      await two?.(...args)
    }) as never
  }
  const compacting = host.hooks["experimental.session.compacting"]
  host.hooks["experimental.session.compacting"] = async (input, output) => {
    await compacting?.(input, output)
    await copy.hooks["experimental.session.compacting"]?.(input, output)
  }
  assert.equal((await host.say("hello")).length, 2)
  await host.ran("read", { output: "text" })
  await host.compact()
  await Promise.all([host.hooks.dispose?.(), copy.hooks.dispose?.()])
  for (const event of ["UserPromptSubmit", "PostToolUse", "PreCompact"]) {
    assert.equal(service.told(event).length, 1, event)
  }
  assert.equal(service.reports().length, 1)
})

test("below a process that memory started, it does nothing", async (t) => {
  process.env["MEMORY_HOOK_ACTIVE"] = "1"
  t.after(() => delete process.env["MEMORY_HOOK_ACTIVE"])
  const host = await HostV1.with({ url: "http://127.0.0.1:9" })
  assert.deepEqual(host.hooks, {})
})

test("a host that names no directory gets one line and no hooks", async (t) => {
  const write = t.mock.method(process.stderr, "write", () => true)
  for (const input of [{}, undefined, null, { project: {} }]) {
    assert.deepEqual(await plugin.server(input as unknown as PluginInput), {})
  }
  const lines = write.mock.calls.map(({ arguments: [line] }) => String(line))
  assert.equal(lines.length, 4)
  for (const line of lines) assert.match(line, /^memory: .*unknown.*\n$/)
})

test("events and arguments of an unknown shape harm nobody", async (t) => {
  const service = await serve(t)
  const host = await HostV1.with({ url: service.url, tool_capture: "*" })
  for (const hook of Object.values(host.hooks) as ((...args: unknown[]) => Promise<void>)[]) {
    for (const odd of [undefined, null, {}, [], "x", 5, { messages: 5 }, { event: null }, { event: { type: "session.created" } }]) {
      await hook(odd, odd)
    }
  }
})
