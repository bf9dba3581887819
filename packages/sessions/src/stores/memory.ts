import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { configChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import type { StateStore } from '../contract/state-store.ts'
import { checkedSessionStore, forwardedState } from '../contract/checked-calls.ts'
import type { SessionStore, StoreOpenOptions } from '../contract/session-store.ts'
import { checkedCopy, copyJson } from '../json.ts'
import { claimRuns } from './memory/claim.ts'
import { commitBatch } from './memory/commit.ts'
import { claimNotices, resendNotice, settleNotice } from './memory/notices.ts'
import { newSpace } from './memory/space.ts'
import type { Space } from './memory/space.ts'
import { forgetDefinitions, pruneSpace } from './memory/prune.ts'
import { readsOf } from './memory/reads.ts'
import { renewLeases } from './memory/renew.ts'
import { hintsOf } from './rules.ts'
import { TurnQueue } from './turn-queue.ts'

/** Store whose sessions are lost with the process. For tests and scripts. It is the reference for the behaviour of other stores. */
export interface MemoryStore extends SessionStore {
  /** Returns another store on the same memory, for a runtime with another namespace. */
  second(): MemoryStore
}

/** Limit of writes per turn: this many, with what they trigger, take some milliseconds. */
const mostPerTurn = 16

/**
 * Creates a store that keeps sessions in memory: they are lost with the process. Takes no options; throws `invalid-config` if any
 * are given. Several runtimes share the data through `second()`.
 */
export function memoryStore(...given: readonly never[]): MemoryStore {
  configChecks.checkRequired('memoryStore.options', given[0], 'left out', (options) => options === undefined)
  return storeOver({ spaces: new Map(), states: new Map(), openStores: 0, clock: systemClock, queue: new TurnQueue(mostPerTurn) })
}

interface Memory {
  readonly spaces: Map<string, Space>
  /** By namespace. */
  readonly states: Map<string, StateStore>
  openStores: number
  /** Clock of the store that was opened first: all leases are compared by it. */
  clock: Clock
  /** Queue of all writes. */
  readonly queue: TurnQueue
}

function storeOver(memory: Memory): MemoryStore {
  let opened: StoreOpenOptions | undefined
  let timesOpened = 0

  function space(): Space {
    if (!opened) throw new SessionError('store-unavailable', 'The memory store is not open')
    let found = memory.spaces.get(opened.namespace)
    if (!found) memory.spaces.set(opened.namespace, (found = newSpace()))
    return found
  }
  function state(): StateStore {
    if (!opened) throw new SessionError('store-unavailable', 'The memory store is not open')
    const found = memory.states.get(opened.namespace) ?? memoryStateStore({ clock: { now: () => memory.clock.now() } })
    memory.states.set(opened.namespace, found)
    return found
  }
  const now = (): number => memory.clock.now()
  const write = <T>(work: (space: Space) => T): Promise<T> => {
    const opened = space()
    return memory.queue.run(() => work(opened))
  }

  return checkedSessionStore({
    ...readsOf(space, now),
    name: 'memory',
    capabilities: { durable: 'none', processes: 'one', maxRecordBytes: Number.MAX_SAFE_INTEGER },
    second: () => storeOver(memory),

    async open(options) {
      if (opened && opened.namespace !== options.namespace) {
        throw new SessionError('invalid-config', 'This memory store is open for another namespace. Use its second()')
      }
      opened = options
      timesOpened += 1
      if (memory.openStores === 0) memory.clock = options.clock
      memory.openStores += 1
    },
    async close() {
      if (timesOpened === 0) return
      // Runs the writes that were requested before the close.
      memory.queue.flush()
      timesOpened -= 1
      memory.openStores -= 1
      if (timesOpened === 0) opened = undefined
    },
    async commit(given) {
      const batch = checkedCopy(given, 'batch')
      return write((space) => {
        const result = commitBatch(space, batch, now())
        if (result.ok) for (const hint of hintsOf(batch)) for (const listener of space.listeners) listener(hint)
        return result
      })
    },
    async claim(request) {
      return write((space) => copyJson(claimRuns(space, request, now())))
    },
    subscribe(listener) {
      const { listeners } = space()
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async renew(leases, leaseMs) {
      return renewLeases(space(), leases, now() + leaseMs)
    },
    async claimNotices(request) {
      return write((space) => copyJson(claimNotices(space, request, now())))
    },
    async settleNotice(notice, outcome) {
      return write((space) => settleNotice(space, notice, outcome, now()))
    },
    async resendNotice(key, id) {
      return write((space) => copyJson(resendNotice(space, key, id, now())))
    },
    async prune(rules, limit) {
      return write((space) => {
        const report = pruneSpace(space, rules, now(), limit)
        forgetDefinitions(space)
        return report
      })
    },
    state: forwardedState(state),
  })
}
