// For hosts that look for a folder's index.ts and not into package.json.

export { default } from "./memory.ts"
