import type { Clock } from '@bowline/llm'
import { SessionError } from '@bowline/sessions/store-parts'
import { connectionError } from './postgres-errors.ts'
import { PgSession } from './pg-session.ts'
import type { NewClient, Queries, Session } from './pg-session.ts'
import { isPooledByTransaction } from './pooler.ts'

/** Part of this process that needs a connection of its own. */
export interface SessionUser {
  /** Called after each connect. If it rejects, the connection is closed and retried. */
  opened(session: Session): Promise<void>
  /** Called once per call of `opened`, after that connection is lost. Must not throw. */
  lost?(): void
  /** Called before the connection is closed on purpose. */
  closing?(session: Session): Promise<void>
}

export interface SessionConnectionOptions {
  readonly newClient: NewClient
  readonly clock: Clock
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number
  /** Notified of an open connection in this order, and of its end in reverse order. */
  readonly users: readonly SessionUser[]
  /** Called with the first failure of each outage. Must not throw. */
  readonly onError: (error: SessionError) => void
  /** Called once if a pooler in transaction mode is detected. No further connection is opened. */
  readonly onPooler: () => void
  /** Timeout in ms for a connection to be made and for a check to be answered. Default 5,000. */
  readonly answerMs?: number
  /** Interval between checks in ms. Default 5,000. */
  readonly checkMs?: number
}

/**
 * State of the direct connection. `down`: it is being reopened. `pooled`: a pooler prevents session state, so hints of other
 * processes are not received.
 */
export type ConnectionState = 'closed' | 'opening' | 'open' | 'down' | 'pooled'

/** Wait before the first reconnect, in ms. Doubles with each attempt, up to `longestRetryMs`. */
const firstRetryMs = 100
const longestRetryMs = 1000

const defaultAnswerMs = 5000
const defaultCheckMs = 5000

/** Settings that keep an idle session connected and let the server detect a lost client soon. */
const settings = {
  statement_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '10000',
  // These writes concern living processes only, and no connection outlives a crash of the server.
  synchronous_commit: 'off',
}

const applySettings =
  'select set_config(given.key, given.value, false) from json_each_text($1::json) as given join pg_settings on pg_settings.name = given.key'

/** Connection that keeps its session and is reopened whenever it is lost. Its failures never end the process. */
export class SessionConnection implements Queries {
  readonly #options: SessionConnectionOptions
  #state: ConnectionState = 'closed'
  #session: PgSession | undefined
  #isClosing = false
  #openings = 0
  #failures = 0
  #openedAt = 0
  #attempt: Promise<void> = Promise.resolve()
  #cancelRetry = (): void => undefined

  constructor(options: SessionConnectionOptions) {
    this.#options = options
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** Number of reconnects. */
  get reconnects(): number {
    return Math.max(0, this.#openings - 1)
  }

  /** Tries once to open the connection. If that fails, keeps trying in the background. */
  async open(): Promise<ConnectionState> {
    if (this.#state !== 'closed') throw new TypeError('This connection was opened before: make another one.')
    this.#state = 'opening'
    await this.#startAttempt(true)
    return this.#state
  }

  async query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    if (this.#state !== 'open' || !this.#session)
      throw new SessionError('store-unavailable', 'The direct connection to Postgres is not open')
    return this.#session.query<Row>(text, values)
  }

  /** Drops the current connection and opens another one. */
  drop(): void {
    this.#session?.destroy()
  }

  /** Lets the users clean up, then ends the connection. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#cancelRetry()
    if (this.#state !== 'open') this.drop()
    await this.#attempt
    const session = this.#session
    if (session && this.#state === 'open') {
      session.holdProcess(true)
      for (const user of this.#options.users.toReversed()) await this.#takeLeave(user, session)
      await session.end()
    }
    this.#state = 'closed'
  }

  async #takeLeave(user: SessionUser, session: PgSession): Promise<void> {
    try {
      await user.closing?.(session)
    } catch (error) {
      // A lost connection needs no cleanup.
      if (session.isOpen) this.#options.onError(connectionError('A connection to Postgres was not closed cleanly', error))
    }
  }

  #startAttempt(holdsProcess: boolean): Promise<void> {
    this.#attempt = this.#tryToOpen(holdsProcess)
    return this.#attempt
  }

  async #tryToOpen(holdsProcess: boolean): Promise<void> {
    const session = this.#newSession()
    this.#session = session
    if (!holdsProcess) session.holdProcess(false)
    try {
      await session.connect()
      await this.#prepare(session)
    } catch (error) {
      session.destroy()
      await session.ended
      this.#failed(error)
    }
  }

  #newSession(): PgSession {
    const { newClient, clock, answerMs = defaultAnswerMs, checkMs = defaultCheckMs } = this.#options
    return new PgSession({ newClient, clock, answerMs, checkMs })
  }

  async #prepare(session: PgSession): Promise<void> {
    if (await isPooledByTransaction(session, () => this.#newSession())) {
      await session.end()
      this.#state = 'pooled'
      this.#options.onPooler()
      return
    }
    await session.query(applySettings, [JSON.stringify(settings)])
    const told: SessionUser[] = []
    void session.ended.then(() => this.#lost(session, told))
    for (const user of this.#options.users) {
      told.push(user)
      await user.opened(session)
    }
    if (!session.isOpen) throw connectionError('The connection was lost while it was being opened', session.fault)
    this.#openings += 1
    this.#openedAt = this.#options.clock.now()
    this.#state = 'open'
    session.holdProcess(false)
  }

  #lost(session: PgSession, told: readonly SessionUser[]): void {
    for (const user of told.toReversed()) user.lost?.()
    // If the connection is still being opened, the attempt itself fails.
    if (this.#state !== 'open' || this.#isClosing) return
    const { clock, onError } = this.#options
    if (clock.now() - this.#openedAt >= longestRetryMs) this.#failures = 0
    onError(connectionError('The direct connection to Postgres was lost; it is opened again', session.fault))
    this.#retry()
  }

  #failed(error: unknown): void {
    if (this.#isClosing) return
    if (this.#failures === 0)
      this.#options.onError(connectionError('The direct connection to Postgres cannot be opened; it is tried again', error))
    this.#retry()
  }

  #retry(): void {
    const { clock, random } = this.#options
    this.#state = 'down'
    const mostMs = Math.min(longestRetryMs, firstRetryMs * 2 ** this.#failures)
    this.#failures += 1
    this.#cancelRetry = clock.setTimer(clock.now() + mostMs * (0.5 + random() / 2), () => void this.#startAttempt(false))
  }
}
