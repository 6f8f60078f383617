// Run by opencode's own Bun: one prompt to the plugin, and what became of it.

const [, , plugin, url] = process.argv
const { default: memory } = await import(`${plugin}/memory.ts`)
const hooks = await memory.server({ directory: "/" }, { url })
const parts = [{ id: "prt_1", type: "text", text: "when does the deploy key of the shop rotate?" }]
await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts })
await hooks.dispose()
console.log(JSON.stringify(parts))
