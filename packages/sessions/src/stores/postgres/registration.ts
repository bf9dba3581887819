import { SessionError } from '../../errors.ts'
import type { Queries, Session } from './pg-session.ts'
import { lockKeyOf, namesIn } from './process-table.ts'
import type { ProcessScope } from './scope.ts'
import type { SessionUser } from './session-connection.ts'

/** A place in the ring of processes, which is ordered by `lockKey`. */
export interface RingPlace {
  readonly name: string
  /** A whole number of 64 bits. */
  readonly lockKey: string
}

export interface RegistrationOptions extends ProcessScope {
  /** In whose name this process has leases. */
  readonly owner: string
  /** A new text each time. */
  readonly newId: () => string
  /** Called when this process must not claim any more. Must not throw. */
  readonly onFenced: () => void
  /** Called when this process may claim, with its present name. Must not throw. */
  readonly onRegistered: (name: string) => void
}

/** Another holder of one of so many keys is a fault of the database, or of what else uses it. */
const mostAttempts = 8

/** Says of this process that it lives: it holds a lock on its direct connection, and a row says which one. */
export class Registration implements SessionUser {
  readonly #options: RegistrationOptions
  readonly #table: string
  #place: RingPlace | undefined
  #isHeld = false

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#table = namesIn(options.schema).table
  }

  /** The present name of this process. Undefined: it must not claim. */
  get name(): string | undefined {
    return this.#isHeld ? this.#place?.name : undefined
  }

  /** The place that this process has, or had before it lost its connection. */
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

  /** The row goes before the lock: a watcher that gets the lock finds nothing to take over. */
  async closing(session: Session): Promise<void> {
    const place = this.#place
    if (!place || !this.#isHeld) return
    this.#isHeld = false
    await session.query(`delete from ${this.#table} where namespace = $1 and name = $2`, [this.#options.namespace, place.name])
    await session.query('select pg_advisory_unlock($1::bigint)', [place.lockKey])
  }

  /**
   * Returns the place from before the connection was lost, if no watcher has taken it: that takes the lock first and removes
   * the row at the end. After a restart of the server, all processes go on under their names.
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
   * The lock comes before the row, so that a watcher never finds the lock of a living process free. With its former row the
   * process keeps its leases from being ended.
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
    throw new SessionError('store-unavailable', `The locks of ${mostAttempts} keys are held by others: look into pg_locks for what else uses advisory locks of this database`)
  }

  async #lock(session: Queries, lockKey: string): Promise<boolean> {
    const [row] = await session.query<{ readonly got: boolean }>('select pg_try_advisory_lock($1::bigint) as got', [lockKey])
    return row?.got === true
  }
}
