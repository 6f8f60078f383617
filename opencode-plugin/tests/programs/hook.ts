// Stands for hook.py: keeps what it is given in a folder.

import { renameSync, writeFileSync } from "node:fs"

const [, , folder, ...argv] = process.argv
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
const { MEMORY_PLUGIN_URL: url, MEMORY_PLUGIN_TOKEN: token } = process.env
const kept = { argv, url, token, body: JSON.parse(Buffer.concat(chunks).toString()) }
writeFileSync(`${folder}/${process.pid}.part`, JSON.stringify(kept))
renameSync(`${folder}/${process.pid}.part`, `${folder}/${process.pid}.json`)
