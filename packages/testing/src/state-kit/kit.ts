import assert from 'node:assert/strict'
import type { Clock, JSONValue } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { CasResult, LifeOptions, StateRead, StateStore, Versioned } from '@bowline/sessions'
import type { TestRunner } from '../runner.ts'

/** Factories and abilities of the state store under test. */
export interface StateKitOptions {
  /** Name of the store in the titles of the tests. */
  readonly name: string
  /** Returns an empty store that uses this clock, unless it has its own. Its `close` must dispose of it. */
  readonly create: (clock: Clock) => Promise<StateStore>
  /** Opens a store with the data of this one, which is closed. Omit it if data do not outlive a store. */
  readonly reopen?: (store: StateStore, clock: Clock) => Promise<StateStore>
  /** Opens another store on the same data, at the same time. Default: the store itself. */
  readonly second?: (store: StateStore, clock: Clock) => Promise<StateStore>
  /**
   * Lets at least this time pass for a store with a clock of its own, for example by a real wait. The tests then use lives of
   * seconds instead of the exact millisecond, and wait about 40 seconds in total.
   */
  readonly pass?: (ms: number) => Promise<void>
  /** True if the store has a word index. Default false: then it must have no `search`. */
  readonly search?: boolean
  /** Called after each test, when its stores are closed. */
  readonly destroy?: () => Promise<void>
  /** Default: the globals `describe` and `it`. */
  readonly runner?: TestRunner
}

/** A store with one space, and helpers for the tests. */
export interface StateBench {
  readonly store: StateStore
  /** Another store on the same data. */
  readonly other: StateStore
  /** False for a store with a clock of its own. */
  readonly isExact: boolean
  /** Life of a record that expires in a test. */
  readonly lifeMs: number
  /** Shorter than a life by so much is not its end. */
  readonly slackMs: number
  pass(ms: number): Promise<void>
  put(id: string, expected: number | null, value?: JSONValue, options?: Partial<LifeOptions>): Promise<CasResult>
  /** Writes and returns the version. Fails if the write is refused. */
  must(id: string, expected: number | null, value?: JSONValue, options?: Partial<LifeOptions>): Promise<number>
  get(id: string): Promise<StateRead>
  /** Reads a record. Fails if it is not found. */
  found(id: string): Promise<Versioned>
  ids(query?: { readonly prefix?: string }): Promise<readonly string[]>
  reopen(): Promise<StateBench>
}

export const space = 'states'
const longMs = 60_000

const exactTimes = { isExact: true, lifeMs: 500, slackMs: 1 }
/** A busy machine may delay each call between two waits. No whole seconds: a store that rounds to them must be noticed. */
const realTimes = { isExact: false, lifeMs: 2_100, slackMs: 1_000 }
/** A timer may fire a little early by another clock. */
const earlyMs = 10

export interface StateKit {
  readonly options: StateKitOptions
  readonly it: (name: string, test: (bench: StateBench) => Promise<void>) => void
}

export type StateTopic = (kit: StateKit) => void

export function stateKitOf(options: StateKitOptions, runner: TestRunner): StateKit {
  return { options, it: (name, test) => runner.it(name, () => runTest(options, test), 30_000) }
}

async function runTest(options: StateKitOptions, test: (bench: StateBench) => Promise<void>): Promise<void> {
  const clock = manualClock(1_750_000_000_000)
  const opened = new Set<StateStore>()
  const benchOver = async (store: StateStore): Promise<StateBench> => {
    const other = (await options.second?.(store, clock)) ?? store
    opened.add(store).add(other)
    const { pass } = options
    const time = pass
      ? { ...realTimes, pass: (ms: number) => pass(ms + earlyMs) }
      : { ...exactTimes, pass: (ms: number) => clock.advance(ms) }
    return benchOf({ store, other, ...time }, async () => {
      for (const each of opened) await each.close()
      opened.clear()
      assert.ok(options.reopen)
      return benchOver(await options.reopen(store, clock))
    })
  }
  try {
    await test(await benchOver(await options.create(clock)))
  } finally {
    for (const store of opened) await store.close()
    await options.destroy?.()
  }
}

type Given = Pick<StateBench, 'store' | 'other' | 'isExact' | 'lifeMs' | 'slackMs' | 'pass'>

function benchOf(given: Given, reopen: StateBench['reopen']): StateBench {
  const { store } = given
  const bench: StateBench = {
    ...given,
    reopen,
    put: (id, expected, value = `value of ${id}`, { ttlMs = longMs } = {}) => store.compareAndSet(space, id, expected, value, { ttlMs }),
    async must(id, expected, value, options) {
      const result = await bench.put(id, expected, value, options)
      assert.ok(result.ok, `${id} was not written: ${result.ok ? '' : result.reason}`)
      return result.version
    },
    get: (id) => store.get(space, id),
    async found(id) {
      const read = await bench.get(id)
      assert.ok(read.status === 'found', `${id} is ${read.status}`)
      return read.value
    },
    async ids(query = {}) {
      return (await store.list(space, query)).items.map((item) => item.id)
    },
  }
  return bench
}
