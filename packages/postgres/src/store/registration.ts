import { SessionError } from '@bowline/sessions/store-parts'
import type { Queries, Session } from './pg-session.ts'
import { lockKeyOf, namesIn } from './process-table.ts'
import type { ProcessScope } from './process-table.ts'
import type { SessionUser } from './session-connection.ts'

/** A place in the ring of processes, which is ordered by `lockKey`. */
export interface RingPlace {
  readonly name: string
  /** 64-bit integer. */
  readonly lockKey: string
}

export interface RegistrationOptions extends ProcessScope {
  /** Owner of the leases of this process. */
  readonly owner: string
  /** Returns a new string on each call. */
  readonly newId: () => string
  /** Called when this process must stop claiming. Must not throw. */
  readonly onFenced: () => void
  /** Called with the current name when this process may claim. Must not throw. */
  readonly onRegistered: (name: string) => void
}

/** After this many taken keys, the database is at fault or is used by something else. */
const mostAttempts = 8

/** Registers this process as alive: a lock on its direct connection, and a row that names the lock. */
export class Registration implements SessionUser {
  readonly #options: RegistrationOptions
  readonly #table: string
  #place: RingPlace | undefined
  #isHeld = false

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#table = namesIn(options.schema).table
  }

  /** Current name of this process. Undefined if it must not claim. */
  get name(): string | undefined {
    return this.#isHeld ? this.#place?.name : undefined
  }

  /** Current place, or the last one before the connection was lost. */
  get place(): RingPlace | undefined {
    return this.#place
  }

  async opened(session: Session): Promise<void> {
    const { onRegistered } = this.#options
    const kept = await this.#takeBack(session)
    const place = kept ?? (await this.#register(session))
    if (!session.isOpen) return
    this.#place = place
    this.#isHeld = true
    onRegistered(place.name)
  }

  lost(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#options.onFenced()
  }

  /** Deletes the row before it releases the lock: a watcher that gets the lock then finds nothing to take over. */
  async closing(session: Session): Promise<void> {
    const place = this.#place
    if (!place || !this.#isHeld) return
    this.#isHeld = false
    await session.query(`delete from ${this.#table} where namespace = $1 and name = $2`, [this.#options.namespace, place.name])
    await session.query('select pg_advisory_unlock($1::bigint)', [place.lockKey])
  }

  /**
   * Returns the place from before the connection was lost, unless a watcher has taken it: a watcher takes the lock first and
   * removes the row last. So all processes keep their names after a restart of the server.
   */
  async #takeBack(session: Queries): Promise<RingPlace | undefined> {
    const place = this.#place
    if (!place || !(await this.#lock(session, place.lockKey))) return undefined
    const rows = await session.query(`select from ${this.#table} where namespace = $1 and name = $2`, [this.#options.namespace, place.name])
    if (rows.length > 0) return place
    await session.query('select pg_advisory_unlock($1::bigint)', [place.lockKey])
    return undefined
  }

  /**
   * Takes the lock before it inserts the row, so that a watcher never finds the lock of a living process free. Replaces the former
   * row in the same statement: a process with a row keeps its leases.
   */
  async #register(session: Queries): Promise<RingPlace> {
    const { namespace, owner, newId } = this.#options
    const name = `${owner}#${newId()}`
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const lockKey = lockKeyOf(this.#options, name, attempt)
      if (!(await this.#lock(session, lockKey))) continue
      const inserted = await session.query(
        `with former as (delete from ${this.#table} where namespace = $1 and name = $5)
insert into ${this.#table} (namespace, name, owner, lock_key, started_at)
values ($1, $2, $3, $4::bigint, floor(extract(epoch from clock_timestamp()) * 1000))
on conflict (lock_key) do nothing returning name`,
        [namespace, name, owner, lockKey, this.#place?.name ?? null],
      )
      if (inserted.length > 0) return { name, lockKey }
      await session.query('select pg_advisory_unlock($1::bigint)', [lockKey])
    }
    throw new SessionError(
      'store-unavailable',
      `Other sessions hold the advisory locks of ${mostAttempts} keys. Find them in pg_locks: another application uses advisory locks of this database`,
    )
  }

  async #lock(session: Queries, lockKey: string): Promise<boolean> {
    const [row] = await session.query<{ readonly got: boolean }>('select pg_try_advisory_lock($1::bigint) as got', [lockKey])
    return row?.got === true
  }
}
