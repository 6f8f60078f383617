import assert from "node:assert/strict"
import { homedir } from "node:os"
import test from "node:test"

import { readSettings } from "../src/settings.ts"

const OPTIONS = {
  url: "http://option:1/",
  token: "option",
  limit: 3,
  budget_chars: "700",
  tool_capture: ["Bash", "read"],
  chat_capture: true,
  autostart: true,
  debug: "stderr",
  discovery: "/option.server.json",
  hook: ["/python", "-I", "/a,b/hook.py"],
  command: ["/bin/memory-mcp", "serve"],
}

test("without anything chosen nothing is captured and nothing is started", () => {
  const settings = readSettings({}, {})
  assert.deepEqual(settings, {
    url: "",
    defaultUrl: "http://127.0.0.1:8765",
    token: "",
    limit: 5,
    budgetChars: 2000,
    toolCapture: [],
    chatCapture: false,
    autostart: false,
    debug: "",
    discovery: `${homedir()}/.local/share/memory-mcp/memory.db.server.json`,
    hook: [],
    command: ["memory-mcp"],
  })
})

test("every setting can be an option", () => {
  assert.deepEqual(readSettings(OPTIONS, {}), {
    url: "http://option:1",
    defaultUrl: "http://127.0.0.1:8765",
    token: "option",
    limit: 3,
    budgetChars: 700,
    toolCapture: ["bash", "read"],
    chatCapture: true,
    autostart: true,
    debug: "stderr",
    discovery: "/option.server.json",
    hook: ["/python", "-I", "/a,b/hook.py"],
    command: ["/bin/memory-mcp", "serve"],
  })
})

test("the environment wins over every option", () => {
  const settings = readSettings(OPTIONS, {
    MEMORY_PLUGIN_URL: "http://env:2",
    MEMORY_PORT: "9000",
    MEMORY_PLUGIN_TOKEN: "env",
    MEMORY_TOKEN: "other",
    MEMORY_PLUGIN_LIMIT: "9",
    MEMORY_PLUGIN_BUDGET_CHARS: "900",
    MEMORY_PLUGIN_TOOL_CAPTURE: "Shell, mcp__x",
    MEMORY_PLUGIN_CHAT_CAPTURE: "0",
    MEMORY_PLUGIN_AUTOSTART: "0",
    MEMORY_PLUGIN_DEBUG: "off",
    MEMORY_DISCOVERY_FILE: "~/env.server.json",
    MEMORY_PLUGIN_HOOK: "/env/python,/hook.py",
    MEMORY_PLUGIN_COMMAND: "memory-mcp,serve",
  })
  assert.deepEqual(settings, {
    url: "http://env:2",
    defaultUrl: "http://127.0.0.1:9000",
    token: "env",
    limit: 9,
    budgetChars: 900,
    toolCapture: ["shell", "mcp__x"],
    chatCapture: false,
    autostart: false,
    debug: "off",
    discovery: `${homedir()}/env.server.json`,
    hook: ["/env/python", "/hook.py"],
    command: ["memory-mcp", "serve"],
  })
})

test("an empty list in the environment switches the option off", () => {
  assert.deepEqual(readSettings(OPTIONS, { MEMORY_PLUGIN_TOOL_CAPTURE: "" }).toolCapture, [])
})

test("a number that makes no sense is the default", () => {
  for (const bad of ["many", "-1", "0", "2.5", ""]) {
    assert.equal(readSettings({}, { MEMORY_PLUGIN_LIMIT: bad }).limit, 5)
  }
  assert.equal(readSettings({ limit: 500 }, {}).limit, 50)
})

test("the discovery file is beside the database that the environment names, or off", () => {
  assert.equal(readSettings({}, { MEMORY_DB_PATH: "/data/m.db" }).discovery, "/data/m.db.server.json")
  assert.equal(readSettings({}, { MEMORY_DB_PATH: "/data/m.db", MEMORY_DISCOVERY_FILE: "off" }).discovery, "")
})
