import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeIds } from '@bowline/testing'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import {
  createOrchestration,
  memoryStateStore,
  type Orchestration,
  type OrchestrationDiagnostic,
  type OrchestrationOptions,
  type OrchestrationState,
  type SessionStore,
  type StateStore,
} from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { afterEach, expect } from 'vitest'

export const id = 'room:1'
export const startMs = 1_750_000_000_000

export interface Bench {
  readonly orchestration: Orchestration
  readonly store: StateStore
  readonly clock: ManualClock
  readonly diagnostics: readonly OrchestrationDiagnostic[]
  /** Creates another manager on the same records, like one of another process. */
  another(options?: Partial<OrchestrationOptions>): Orchestration
}

const ids = fakeIds()

/** Creates an orchestration with an empty environment and without waits between attempts. */
export function bench(
  options: Partial<OrchestrationOptions> & { readonly store?: StateStore | SessionStore } = {},
  clock: ManualClock = manualClock(startMs),
): Bench {
  const store = options.store ?? memoryStateStore({ clock })
  const diagnostics: OrchestrationDiagnostic[] = []
  const another = (more: Partial<OrchestrationOptions> = {}): Orchestration =>
    createOrchestration({
      clock,
      ids,
      environment: {},
      random: () => 0,
      onDiagnostic: (d) => diagnostics.push(d),
      ...options,
      ...more,
      store,
    })
  return { orchestration: another(), store: 'state' in store ? store.state : store, clock, diagnostics, another }
}

export const kinds = ['memory', 'sqlite', 'file'] as const

/** Opens stores and closes them after each test. */
export function openStores(): Readonly<Record<(typeof kinds)[number], (clock: ManualClock) => Promise<StateStore>>> {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  async function stateOf(clock: ManualClock, storeIn: (folder: string) => SessionStore): Promise<StateStore> {
    const folder = mkdtempSync(join(tmpdir(), 'bowline-orchestration-'))
    const store = storeIn(folder)
    await store.open({ namespace: 'default', owner: 'owner-a', clock })
    closing.push(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    return store.state
  }
  return {
    memory: async (clock) => memoryStateStore({ clock }),
    sqlite: (clock) => stateOf(clock, (folder) => sqliteStore({ file: join(folder, 'data.db') })),
    file: (clock) => stateOf(clock, (dir) => fileStore({ dir, fsync: false })),
  }
}

/** Returns the state after these uses. */
export function stateWith(fields: Partial<OrchestrationState> & { readonly uses?: readonly string[] } = {}): OrchestrationState {
  const { uses = [], ...given } = fields
  return {
    sessionId: id,
    recentlyUsedTools: [...new Set(uses.toReversed())].slice(0, 10),
    toolHistory: uses.map((tool, at) => ({ tool, at })),
    sequenceIndex: 0,
    usesInStep: 0,
    cumulativeTokenUsage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
    lastAccessed: startMs,
    ttl: 1_000,
    version: 1,
    schemaVersion: 1 as const,
    ...given,
  }
}

/** Advances the clock through waits between attempts until the work is done. */
export async function throughWaits<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let done = false
  const settled = work.finally(() => (done = true))
  settled.catch(() => undefined)
  while (!done) await clock.advance(1)
  return settled
}

/** Returns a fixed sequence of numbers from 0 to below 1. */
export function drawn(seed: number): () => number {
  let value = seed
  return () => {
    value = (value * 1_103_515_245 + 12_345) % 2_147_483_648
    return value / 2_147_483_648
  }
}

/** Counts the calls of a store. `fault` may throw before or after a call. */
export function watchedStore(
  store: StateStore,
  fault: (call: string, when: 'before' | 'after') => void | Promise<void> = () => undefined,
): StateStore & { readonly calls: string[] } {
  const calls: string[] = []
  return new Proxy(store, {
    get(target, name) {
      if (name === 'calls') return calls
      const call: unknown = Reflect.get(target, name)
      if (typeof call !== 'function') return call
      return async (...args: unknown[]) => {
        calls.push(String(name))
        await fault(String(name), 'before')
        const result: unknown = await (call as (...given: unknown[]) => unknown).apply(target, args)
        await fault(String(name), 'after')
        return result
      }
    },
  }) as StateStore & { readonly calls: string[] }
}

/** Looks at a state for three lifetimes of 1,500 ms, and counts the writes. The store must use this clock. */
export async function expectLooksToExtend(given: StateStore, clock: ManualClock): Promise<void> {
  const store = watchedStore(given)
  const steps = [{ name: 'plan', isDefault: true }]
  const { orchestration } = bench({ config: { steps }, store, ttlMs: 1_500 }, clock)
  const created = await orchestration.getOrCreateState(id)
  store.calls.length = 0
  const writes = (): readonly string[] => store.calls.filter((name) => name !== 'get' && name !== 'list')
  await clock.advance(149)
  expect(await orchestration.getState(id)).toEqual(created)
  await orchestration.allowedTools(id, ['search'])
  expect(writes()).toEqual([])
  await clock.advance(751)
  const extended = { ...created, lastAccessed: startMs + 900 }
  expect(await orchestration.getState(id)).toEqual(extended)
  expect(await orchestration.getState(id)).toEqual(extended)
  await clock.advance(1_499)
  expect(await orchestration.allowedTools(id, ['search'])).toMatchObject({ tools: ['search'], step: 'plan' })
  expect(writes()).toEqual(['touch', 'touch'])
  await clock.advance(1_499)
  expect((await orchestration.listStates()).items).toHaveLength(1)
  await clock.advance(1)
  expect(await orchestration.getState(id)).toBeNull()
}
