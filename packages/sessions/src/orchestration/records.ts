import type { IdSource } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { CasResult, StateQuery, StateStore, TimeToLive } from '../contract/state-store.ts'
import { IdQueues } from './id-queues.ts'
import { checkStateId } from './state-id.ts'
import { freshState, fromVersioned, toValue, ttlOf } from './state-record.ts'
import type { StateRecord } from './state-record.ts'
import { heldMs } from './time-to-live.ts'
import type { OrchestrationState, StatePage, UnreadableState } from './types.ts'

export interface StateRecordsOptions {
  readonly store: StateStore
  readonly space: string
  readonly ttlMs: TimeToLive
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
}

/** Returns the changed state, or undefined if nothing is to be written. */
export type StateChange = (state: OrchestrationState, isApplied: (key: string) => boolean) => Changed | undefined

export interface Changed {
  readonly state: OrchestrationState
  /** Idempotency keys of the change. */
  readonly keys: readonly string[]
}

const highestTries = 21
const keysKept = 100
const longestWaitMs = 64

/** The records of one namespace. Writes by compare-and-set only. */
export class StateRecords {
  readonly #options: StateRecordsOptions
  readonly #queues = new IdQueues()

  constructor(options: StateRecordsOptions) {
    this.#options = options
  }

  /** Reads the state. A tenth of its lifetime after the last access, this starts its lifetime anew. */
  async read(id: string): Promise<OrchestrationState | null> {
    checkStateId(id)
    const { store, space, clock } = this.#options
    const state = (await this.#find(id))?.state ?? null
    if (state === null || state.ttl === 'never' || clock.now() - state.lastAccessed < state.ttl / 10) return state
    // If the record expires or is removed meanwhile, it is still what was read.
    return (await store.touch(space, id, state.ttl)) ? this.#written(id, state, state.version, state.ttl) : state
  }

  getOrCreate(id: string): Promise<OrchestrationState> {
    checkStateId(id)
    return this.#getOrCreate(id, this.#options.ttlMs)
  }

  #getOrCreate(id: string, ttl: TimeToLive): Promise<OrchestrationState> {
    return this.#retry(id, async () => {
      const found = await this.#find(id)
      if (found) return found.state
      const state = freshState(id, { version: 0, lastAccessed: 0, ttl })
      const result = await this.#write(id, null, { state, keys: [this.#options.ids.next('change')] })
      return result.ok ? this.#written(id, state, result.version) : tryAgain
    })
  }

  /** Returns the state for a turn and keeps it from expiring until `release`. If there is none, calls `onMissing` and creates it. */
  async hold(id: string, onMissing: (hasExpired: boolean) => void): Promise<OrchestrationState> {
    const { store, space, ttlMs } = this.#options
    const held = ttlMs === 'never' ? ttlMs : heldMs
    const read = await store.get(space, id)
    if (read.status === 'found') {
      const { state } = fromVersioned(id, read.value)
      if (state.ttl === 'never' || state.ttl === heldMs || (await store.touch(space, id, held))) return state
    }
    onMissing(read.status !== 'missing')
    return this.#getOrCreate(id, held)
  }

  /** Restarts the lifetime of a state that no run holds any more. */
  async release(id: string): Promise<void> {
    const { store, space, ttlMs } = this.#options
    await store.touch(space, id, ttlMs)
  }

  /** Applies the change with retry. Resolves with null if there is no record. `change` is called again after a conflict. */
  change(id: string, change: StateChange): Promise<OrchestrationState | null> {
    checkStateId(id)
    return this.#queues.add(id, () => this.#change(id, change))
  }

  /** Replaces the record by fresh defaults, even if it cannot be read. */
  async reset(id: string): Promise<OrchestrationState | null> {
    checkStateId(id)
    return this.#queues.add(id, () => this.#reset(id))
  }

  async #reset(id: string): Promise<OrchestrationState | null> {
    const { store, space } = this.#options
    try {
      return await this.#change(id, (state) => ({ state: freshState(id, state), keys: [] }), { repair: true })
    } catch (error) {
      if (!isCorrupt(error)) throw error
      // Deletes the record, because the store cannot read it, not even its version.
      await store.delete(space, id)
      return this.getOrCreate(id)
    }
  }

  async touch(id: string): Promise<boolean> {
    checkStateId(id)
    const { store, space } = this.#options
    const read = await store.get(space, id)
    return read.status === 'found' && store.touch(space, id, this.#nextTtl(ttlOf(read.value)))
  }

  async remove(id: string): Promise<boolean> {
    checkStateId(id)
    return (await this.#options.store.delete(this.#options.space, id)).ok
  }

  async list(query: StateQuery): Promise<StatePage> {
    const page = await this.#options.store.list(this.#options.space, query)
    const items: OrchestrationState[] = []
    const unreadable: UnreadableState[] = []
    for (const { id, ...versioned } of page.items) {
      try {
        items.push(fromVersioned(id, versioned).state)
      } catch (error) {
        if (!SessionError.isInstance(error) || (error.code !== 'store-corrupt' && error.code !== 'schema-too-new')) throw error
        unreadable.push({ sessionId: id, code: error.code, message: error.message })
      }
    }
    return { ...page, items, ...(unreadable.length > 0 && { unreadable }) }
  }

  async #change(id: string, change: StateChange, { repair = false } = {}): Promise<OrchestrationState | null> {
    const own = this.#options.ids.next('change')
    return this.#retry(id, async (tried) => {
      if (tried > 0) await this.#wait(tried)
      const record = await this.#find(id, repair)
      if (!record) return null
      const changed = change(record.state, (key) => record.keys.includes(key))
      if (!changed) return record.state
      const keys = changed.keys.length > 0 ? changed.keys : [own]
      const result = await this.#write(id, record.state.version, { state: changed.state, keys: keysBehind(record.keys, keys) })
      if (result.ok) return this.#written(id, changed.state, result.version)
      return result.reason === 'missing' ? null : tryAgain
    })
  }

  /** With `repair`, a record that cannot be read is returned as a fresh one. */
  async #find(id: string, repair = false): Promise<StateRecord | undefined> {
    const read = await this.#options.store.get(this.#options.space, id)
    if (read.status !== 'found') return undefined
    try {
      return fromVersioned(id, read.value)
    } catch (error) {
      if (!repair || !isCorrupt(error)) throw error
      const { version, usedAt } = read.value
      return { state: freshState(id, { version, lastAccessed: usedAt, ttl: ttlOf(read.value) }), keys: [] }
    }
  }

  /** Returns the lifetime after a change or touch. What an open run holds stays held. */
  #nextTtl(ttl: TimeToLive): TimeToLive {
    return ttl === heldMs ? ttl : this.#options.ttlMs
  }

  async #write(id: string, expected: number | null, record: StateRecord): Promise<CasResult> {
    const { store, space } = this.#options
    try {
      return await store.compareAndSet(space, id, expected, toValue(record), { ttlMs: this.#nextTtl(record.state.ttl) })
    } catch (error) {
      if (!SessionError.isInstance(error) || error.code !== 'store-unavailable') throw error
      const version = await this.#versionWith(id, record.keys.at(-1))
      if (version === undefined) throw error
      return { ok: true, version }
    }
  }

  /** Used after a lost answer. Returns the version of the record if it contains the change with this key. */
  async #versionWith(id: string, key: string | undefined): Promise<number | undefined> {
    const record = await this.#find(id, true)
    return record && key !== undefined && record.keys.includes(key) ? record.state.version : undefined
  }

  /** Returns the state as a reader would see it. */
  #written(id: string, state: OrchestrationState, version: number, ttl = this.#nextTtl(state.ttl)): OrchestrationState {
    const usedAt = this.#options.clock.now()
    const expiresAt = ttl === 'never' ? ttl : usedAt + ttl
    return fromVersioned(id, { value: toValue({ state, keys: [] }), version, usedAt, expiresAt }).state
  }

  /** Waits for a random time. Its limit doubles with each attempt, so that two writers do not conflict again and again. */
  #wait(tried: number): Promise<void> {
    const { clock, random } = this.#options
    const waitMs = Math.floor(random() * Math.min(longestWaitMs, 2 ** tried))
    if (waitMs === 0) return Promise.resolve()
    return new Promise((resolve) => void clock.setTimer(clock.now() + waitMs, resolve, { hold: true }))
  }

  #retry<T>(id: string, attempt: (tried: number) => Promise<T | typeof tryAgain>): Promise<T> {
    return retryOnConflict(
      attempt,
      (tries) => `The orchestration state of ${id} was changed by other writers in each of ${tries} tries. Try again.`,
      highestTries,
    )
  }
}

function isCorrupt(error: unknown): boolean {
  return SessionError.isInstance(error) && error.code === 'store-corrupt'
}

/** Appends keys and drops the oldest ones. All keys of one change are kept, even above the limit. */
function keysBehind(before: readonly string[], added: readonly string[]): readonly string[] {
  return [...before, ...added].slice(-Math.max(keysKept, added.length))
}
