import type { Clock } from '@bowline/llm'
import type { Session } from './pg-session.ts'
import { lockWaitMs, namesIn, takeOver } from './process-table.ts'
import type { ProcessScope } from './process-table.ts'
import type { RingPlace } from './registration.ts'
import type { SessionUser } from './session-connection.ts'

export interface WatcherOptions extends ProcessScope {
  readonly clock: Clock
  /** Place of this process in the ring. Undefined if it has none yet. */
  readonly place: () => RingPlace | undefined
  /**
   * Called after this process has taken over another one, with the keys of the sessions that can be claimed now. Must not throw.
   */
  readonly onTakenOver: (name: string, keys: readonly string[]) => void
  /** Cancels the current statement of a server process. */
  readonly cancel: (backend: number) => Promise<unknown>
  /** Called if the row of this process is gone. Must not throw. */
  readonly onMissing: (place: RingPlace) => void
  /** Called with failures, which are retried. Must not throw. */
  readonly onError: (error: unknown) => void
}

interface Ring {
  readonly isMember: boolean
  readonly next: RingPlace | undefined
}

/** Wait in ms for a cancelled statement to end before it is cancelled again. */
const cancelMs = 50

/** Time in ms for other processes to take their locks back after an outage. */
const graceMs = 2000

/** Waits for the lock of the next process in the ring, and takes that process over when its lock is released. */
export class Watcher implements SessionUser {
  readonly #options: WatcherOptions
  readonly #table: string
  readonly #lockFunction: string
  #wasOpen = false
  #isClosing = false
  #takeovers = 0
  /** Id of the server process that waits for a lock. */
  #backend: number | undefined
  #isWaiting = false
  #loop: Promise<void> = Promise.resolve()
  #wake = (): void => undefined

  constructor(options: WatcherOptions) {
    this.#options = options
    const { table, lockFunction } = namesIn(options.schema)
    this.#table = table
    this.#lockFunction = lockFunction
  }

  /** Number of processes that this one has taken over. */
  get takeovers(): number {
    return this.#takeovers
  }

  async opened(session: Session): Promise<void> {
    const [row] = await session.query<{ readonly backend: number }>('select pg_backend_pid() as backend')
    this.#backend = row?.backend
    const before = this.#loop
    // The former loop may still be in a takeover that began before its connection was lost.
    this.#loop = this.#watch(session, this.#wasOpen ? graceMs : 0).then(() => before)
    this.#wasOpen = true
  }

  lost(): void {
    this.#wake()
  }

  async closing(): Promise<void> {
    this.#isClosing = true
    this.#wake()
    while (this.#isWaiting && (await this.#cancelWait())) await this.#endsWithin(cancelMs)
    // If the wait cannot be cancelled, it ends soon by itself.
    await this.#loop
  }

  /** Cancels the wait. Has no effect if the statement has not started yet. Returns false if a retry is useless. */
  async #cancelWait(): Promise<boolean> {
    if (this.#backend === undefined) return false
    try {
      await this.#options.cancel(this.#backend)
      return true
    } catch (error) {
      this.#options.onError(error)
      return false
    }
  }

  async #endsWithin(ms: number): Promise<void> {
    const { clock } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + ms, resolve)
    await Promise.race([this.#loop, late])
    cancel()
  }

  async #watch(session: Session, startAfterMs: number): Promise<void> {
    await this.#pause(startAfterMs)
    while (session.isOpen && !this.#isClosing) {
      try {
        if (!(await this.#watchNext(session))) await this.#pause(lockWaitMs)
      } catch (error) {
        // The connection reports its own end.
        if (!session.isOpen) return
        this.#options.onError(error)
        await this.#pause(lockWaitMs)
      }
    }
  }

  /** Watches the next process once. Returns false if there is none. */
  async #watchNext(session: Session): Promise<boolean> {
    const place = this.#options.place()
    if (!place) return false
    const { isMember, next } = await this.#readRing(session, place)
    if (!isMember) this.#options.onMissing(place)
    if (!next || this.#isClosing) return false
    if (!(await this.#waitForLock(session, next))) return true
    try {
      if (!this.#isClosing) await this.#takeOver(session, next)
    } finally {
      if (session.isOpen) await session.query('select pg_advisory_unlock_all()')
    }
    return true
  }

  async #waitForLock(session: Session, { lockKey }: RingPlace): Promise<boolean> {
    this.#isWaiting = true
    try {
      const [row] = await session.query<{ readonly got: boolean }>(`select ${this.#lockFunction}($1::bigint, ${lockWaitMs}) as got`, [
        lockKey,
      ])
      return row?.got === true
    } finally {
      this.#isWaiting = false
    }
  }

  async #takeOver(session: Session, { name }: RingPlace): Promise<void> {
    const keys = await takeOver(session, this.#options, name)
    if (!keys) return
    this.#takeovers += 1
    this.#options.onTakenOver(name, keys)
  }

  async #readRing(session: Session, place: RingPlace): Promise<Ring> {
    const { namespace } = this.#options
    const [row] = await session.query<{ readonly isMember: boolean; readonly name: string | null; readonly lockKey: string | null }>(
      `select exists (select from ${this.#table} where namespace = $1 and name = $2) as "isMember", next.name, next.lock_key::text as "lockKey"
from (select) as one left join lateral (
  select name, lock_key from ${this.#table} where namespace = $1 and name <> $2 order by lock_key > $3::bigint desc, lock_key limit 1
) as next on true`,
      [namespace, place.name, place.lockKey],
    )
    const next = row?.name != null && row.lockKey != null ? { name: row.name, lockKey: row.lockKey } : undefined
    return { isMember: row?.isMember === true, next }
  }

  /** Waits. Ends early if the connection is lost or closed. */
  async #pause(ms: number): Promise<void> {
    if (ms === 0 || this.#isClosing) return
    const { clock } = this.#options
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + ms, resolve)
    this.#wake = resolve
    await promise
    cancel()
  }
}
