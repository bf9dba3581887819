export { memoryStore } from './stores/memory.ts'
export type { MemoryStore } from './stores/memory.ts'
