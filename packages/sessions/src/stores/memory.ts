import { configChecks } from '../arguments.ts'
import { forwardedState } from '../contract/checked-calls.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateStore } from '../contract/state-store.ts'
import { coreStore } from '../core/core-store.ts'
import { memoryRows, type MemoryRows } from '../rows/memory-rows.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'

/** Store whose sessions are lost with the process. For tests and scripts. It is the reference for the behaviour of other stores. */
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
  return storeOver(memoryRows(), new Map())
}

/** `states`: the state records of each namespace. */
function storeOver(rows: MemoryRows, states: Map<string, StateStore>): MemoryStore {
  const state = (): StateStore => {
    const found = states.get(rows.namespace) ?? memoryStateStore({ clock: rows.clock })
    states.set(rows.namespace, found)
    return found
  }
  return { ...coreStore(rows, { loss: 'lease', state: forwardedState(state) }), second: () => storeOver(rows.second(), states) }
}
