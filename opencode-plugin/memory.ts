// Long-term memory for opencode, both lines in one export: 1.x calls `server`, 2.x calls `setup` (1.18 calls both).

import { server } from "./src/v1.ts"
import { setup } from "./src/v2.ts"

export default { id: "memsite", server, setup }
