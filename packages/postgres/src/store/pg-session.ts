import { Socket } from 'node:net'
import type { Clock } from '@bowline/llm'
import type * as pg from 'pg'
import { connectionError } from './postgres-errors.ts'

/** Runs statements. A rejection is a `SessionError`. */
export interface Queries {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

/** One connection while it is open. Runs its statements one after the other. */
export interface Session extends Queries {
  readonly isOpen: boolean
  /** Called with the channel and the payload of each notification. */
  onNotification(listener: (channel: string, payload: string) => void): void
}

export type NewClient = (settings: pg.ClientConfig) => pg.Client

export interface PgSessionOptions {
  /** Creates a client for the server of this process, with these settings added. */
  readonly newClient: NewClient
  readonly clock: Clock
  /** Timeout in ms for a connection to be made and for a statement of the check to be answered. */
  readonly answerMs: number
  /** Interval between checks in ms. */
  readonly checkMs: number
}

/** A client of `pg` that cannot end the process and notices when its server is gone. */
export class PgSession implements Session {
  /** Resolves when the connection is gone, for any reason. */
  readonly ended: Promise<void>
  readonly #options: PgSessionOptions
  readonly #client: pg.Client
  readonly #socket = new Socket()
  #last: Promise<unknown> = Promise.resolve()
  #cancelCheck = (): void => undefined
  #isOpen = false
  /** Why the connection was lost, as far as known. */
  #fault: unknown

  constructor(options: PgSessionOptions) {
    this.#options = options
    this.#client = options.newClient({
      keepAlive: true,
      keepAliveInitialDelayMillis: options.answerMs,
      connectionTimeoutMillis: options.answerMs,
      stream: () => this.#socket,
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    // Without a listener, an error ends the process, even one that arrives after the end of the connection.
    this.#client.on('error', (error) => {
      this.#fault ??= error
      this.destroy()
    })
    // With TLS, the end of the connection shows only in the socket above this one.
    this.#client.once('end', () => this.destroy())
    this.#socket.once('close', () => {
      this.#isOpen = false
      this.#cancelCheck()
      resolve()
    })
  }

  async connect(): Promise<void> {
    try {
      await this.#client.connect()
    } catch (error) {
      this.destroy()
      throw connectionError('No connection to Postgres can be opened', error)
    }
    this.#isOpen = true
    this.#awaitCheck()
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Why the connection was lost. */
  get fault(): unknown {
    return this.#fault
  }

  /** Process id of the server, as announced when the connection was made. A pooler announces an id of its own. */
  get announcedPid(): unknown {
    return 'processID' in this.#client ? this.#client.processID : undefined
  }

  query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const answer = this.#last.then(() => this.#client.query<Row>(text, [...values]))
    this.#last = answer.catch(() => undefined)
    return answer.then(
      ({ rows }) => rows,
      (error: unknown) => {
        throw connectionError('A statement on a connection to Postgres failed', error)
      },
    )
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.#client.on('notification', ({ channel, payload }) => listener(channel, payload ?? ''))
  }

  /** If true, the open connection keeps the process alive. */
  holdProcess(isHeld: boolean): void {
    if (isHeld) this.#socket.ref()
    else this.#socket.unref()
  }

  /** Ends the connection after pending statements. Destroys it if they are not answered in time. */
  async end(): Promise<void> {
    const { clock, answerMs } = this.#options
    this.holdProcess(true)
    const cancel = clock.setTimer(clock.now() + answerMs, () => this.destroy(), { hold: true })
    await Promise.race([this.#last, this.ended])
    this.#cancelCheck()
    if (this.#isOpen) this.#client.end(() => undefined)
    await this.ended
    cancel()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #awaitCheck(): void {
    const { clock, checkMs } = this.#options
    this.#cancelCheck = clock.setTimer(clock.now() + checkMs, () => this.#check())
  }

  /**
   * Destroys the connection if the server does not answer in time. Waits in two halves: a process that was stopped for long finds
   * the first half over, and can still read the answer in the second.
   */
  #check(): void {
    const { clock, answerMs } = this.#options
    const half = (then: () => void): void => void (this.#cancelCheck = clock.setTimer(clock.now() + answerMs / 2, then))
    const giveUp = (): void => {
      this.#fault ??= Object.assign(new Error('The server did not answer in time'), { code: 'ETIMEDOUT' })
      this.destroy()
    }
    half(() => half(giveUp))
    this.query('select 1').then(
      () => {
        this.#cancelCheck()
        if (this.#isOpen) this.#awaitCheck()
      },
      // The end of the connection reports the better reason.
      () => this.destroy(),
    )
  }
}
