import { systemClock } from '@bowline/llm'
import { configChecks } from '../arguments.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { memoryRows, type MemoryRows } from '../rows/memory-rows.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import { coreStore } from './core-store.ts'

/** Store whose sessions are lost with the process. For tests and scripts. */
export interface MemoryStore extends SessionStore {
  /** Returns another store on the same memory, for a runtime with another namespace. */
  second(): MemoryStore
}

/**
 * Creates a store that keeps sessions in memory: they are lost with the process. Takes no options; throws `invalid-config` if any
 * are given. Several runtimes share the data through `second()`.
 */
export function memoryStore(...given: readonly never[]): MemoryStore {
  configChecks.checkRequired('memoryStore.options', given[0], 'left out', (options) => options === undefined)
  return storeOver(memoryRows())
}

function storeOver(rows: MemoryRows): MemoryStore {
  return { ...coreStore(rows, { loss: 'lease', state: memoryStateStore({ clock: systemClock }) }), second: () => storeOver(rows.second()) }
}
