import type { Clock, Cost, JSONValue } from '@bowline/llm'
import type { StateStore } from '../contract/state-store.ts'
import { SessionError, type SessionErrorCode } from '../errors.ts'

/** Stored spending of one tenant in one window. */
export interface Ledger {
  readonly spent?: Cost
  /** Amounts granted in addition to the limit, as decimal strings, by the id of the decision. */
  readonly granted?: Readonly<Record<string, string>>
  /** Reservations by id, until they are settled or their lease ends. */
  readonly reserved: Readonly<Record<string, Reserved>>
  /** The last write of each process. After a lost answer it shows whether the write was applied. */
  readonly writers: Readonly<Record<string, { readonly n: number; readonly at: number }>>
}

export interface Reserved {
  readonly cost: Cost
  /** Epoch milliseconds. */
  readonly until: number
}

/** Returns the changed ledger, or undefined to leave it as it is. May be called again with a newer ledger. */
export type Change = (ledger: Ledger, now: number) => Ledger | undefined

export interface AccountOptions {
  readonly state: StateStore
  readonly id: string
  readonly clock: Clock
  /** Unique among all processes. */
  readonly writer: string
  /** Returns the time in ms for which the record must be kept from now on. */
  readonly ttlMs: () => number
}

interface Waiting {
  readonly change: Change
  readonly done: (changed: boolean) => void
  readonly failed: (error: unknown) => void
}

interface Known {
  readonly version: number | null
  readonly ledger: Ledger
}

const space = 'tenant-budget'
/** Longer than a process waits before it checks again whether its last write was applied. */
const writerMs = 600_000
const firstDelayMs = 50
const longestDelayMs = 2_000
/** Failures of the store that are waited for. */
const passing: ReadonlySet<SessionErrorCode> = new Set(['store-unavailable', 'store-full', 'store-locked'])
const empty: Ledger = { reserved: {}, writers: {} }

/** The ledger of one tenant in one window, as this process changes it. Changes that wait together are stored in one write. */
export class TenantAccount {
  readonly #options: AccountOptions
  /** Undefined: it must be read before the next write. */
  #known: Known | undefined
  #latest: Ledger = empty
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  #writes = 0

  constructor(options: AccountOptions) {
    this.#options = options
  }

  /** Resolves when all changes are stored. Undefined if there are none. */
  get writing(): Promise<void> | undefined {
    return this.#writing
  }

  /** The ledger as last seen by this process. */
  get latest(): Ledger {
    return this.#latest
  }

  async read(): Promise<Ledger> {
    return (await this.#read()).ledger
  }

  /**
   * Resolves when the change is stored, or with false if it left the ledger as it is. Retries while the store is unavailable or full.
   * The change is applied once, even if the answer of the store is lost.
   */
  change(change: Change): Promise<boolean> {
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<boolean>()
    this.#waiting.push({ change, done, failed })
    this.#writing ??= this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        const changed = await this.#write(batch.map(({ change }) => change))
        for (const [place, { done }] of batch.entries()) done(changed[place] === true)
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    // Set synchronously: a later change starts a new write.
    this.#writing = undefined
  }

  async #write(changes: readonly Change[]): Promise<readonly boolean[]> {
    const n = ++this.#writes
    // All attempts use one time, so that a retry after a lost answer decides as the lost attempt did.
    const now = this.#options.clock.now()
    let attempted: readonly boolean[] | undefined
    for (let failures = 0; ;) {
      try {
        const isFresh = this.#known === undefined
        const base = this.#known ?? (await this.#read())
        if (attempted && base.ledger.writers[this.#options.writer]?.n === n) return attempted
        const { ledger, changed } = applied(base.ledger, changes, now)
        // Another process may have released budget meanwhile, so read again before refusing.
        if (!isFresh && changed.includes(false)) this.#known = undefined
        else if (!changed.includes(true)) return changed
        else {
          attempted = changed
          if (await this.#store(base, { ...ledger, writers: { ...ledger.writers, [this.#options.writer]: { n, at: now } } })) return changed
        }
      } catch (error) {
        this.#known = undefined
        if (!SessionError.isInstance(error) || !passing.has(error.code)) throw error
        await this.#wait(Math.min(longestDelayMs, firstDelayMs * 2 ** failures++))
      }
    }
  }

  /** Returns false if another writer was faster. */
  async #store({ version }: Known, ledger: Ledger): Promise<boolean> {
    const { state, id, ttlMs } = this.#options
    const result = await state.compareAndSet(space, id, version, ledger as unknown as JSONValue, { ttlMs: ttlMs() })
    if (result.ok) this.#learn({ version: result.version, ledger })
    else if (result.current) this.#learn({ version: result.current.version, ledger: result.current.value as unknown as Ledger })
    else this.#known = undefined
    return result.ok
  }

  async #read(): Promise<Known> {
    const found = await this.#options.state.get(space, this.#options.id)
    if (found.status !== 'found') return this.#learn({ version: null, ledger: empty })
    return this.#learn({ version: found.value.version, ledger: found.value.value as unknown as Ledger })
  }

  #learn(known: Known): Known {
    this.#known = known
    this.#latest = known.ledger
    return known
  }

  #wait(delayMs: number): Promise<void> {
    const { clock } = this.#options
    return new Promise((resolve) => void clock.setTimer(clock.now() + delayMs, resolve))
  }
}

function applied(base: Ledger, changes: readonly Change[], now: number): { readonly ledger: Ledger; readonly changed: readonly boolean[] } {
  let ledger = withoutExpired(base, now)
  const changed = changes.map((change) => {
    const after = change(ledger, now)
    if (after) ledger = after
    return after !== undefined
  })
  return { ledger, changed }
}

/** Returns the ledger without reservations whose lease has ended. */
export function withoutExpired({ reserved, writers, ...ledger }: Ledger, now: number): Ledger {
  return {
    ...ledger,
    reserved: Object.fromEntries(Object.entries(reserved).filter(([, { until }]) => until > now)),
    writers: Object.fromEntries(Object.entries(writers).filter(([, { at }]) => at + writerMs > now)),
  }
}
