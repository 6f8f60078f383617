// Stands for memory-mcp: ends if another one lives; takes its time to start, publishes where it is, says so, and answers
// every prompt with a block.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const [, , milliseconds, port = "0"] = process.argv
const discovery = process.env["MEMORY_DISCOVERY_FILE"] ?? ""
if (!isFirst(`${discovery}.lock`)) process.exit(0)
appendFileSync(`${discovery}.starts`, `${process.pid} ${process.env["MEMORY_HOOK_ACTIVE"]}\n`)
const server = createServer((request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify({ block: "a block", uids: [] })))
})
setTimeout(() => server.listen(Number(port), "127.0.0.1", listening), Number(milliseconds))
setTimeout(() => process.exit(), 20_000)

function isFirst(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: "wx" })
  } catch {
    try {
      process.kill(Number(readFileSync(lock, "utf8") || process.ppid), 0)
      return false
    } catch {
      writeFileSync(lock, `${process.pid}`)
    }
  }
  return true
}

function listening(): void {
  const { port: chosen } = server.address() as AddressInfo
  const published = JSON.stringify({ url: `http://127.0.0.1:${chosen}`, port: chosen, pid: process.pid })
  writeFileSync(discovery, published, { mode: 0o600 })
  process.stdout.write(`MEMORY_MCP_LISTENING ${published}\n`)
}
