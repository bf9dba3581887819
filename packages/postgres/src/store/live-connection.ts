import type { Clock } from '@bowline/llm'
import type { SessionError } from '@bowline/sessions'
import type { Hint } from './hint-format.ts'
import { HintListener } from './hint-listener.ts'
import { HintSender } from './hint-sender.ts'
import type { NewClient, Queries } from './pg-session.ts'
import { Registration } from './registration.ts'
import { channelOf } from './process-table.ts'
import type { ProcessScope } from './process-table.ts'
import { SessionConnection } from './session-connection.ts'
import type { ConnectionState, SessionUser } from './session-connection.ts'
import { Watcher } from './watcher.ts'

export interface LiveConnectionOptions extends ProcessScope {
  /**
   * Creates clients with sessions of their own. Undefined: there are none, and other processes detect the death of this one by its
   * leases only.
   */
  readonly newClient: NewClient | undefined
  /** False: this process neither shows that it is alive nor watches others, because a host decides who works on what. */
  readonly isMember: boolean
  /** Owner of the leases of this process. */
  readonly owner: string
  readonly clock: Clock
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number
  /** Returns a new string without spaces on each call. */
  readonly newId: () => string
  /** Sends hints while there is no direct connection. Must not be a connection that a writer waits for. */
  readonly pool: Queries
  readonly events: LiveEvents
  /** Timeout in ms for a connection to be made and for a check to be answered. Default 5,000. */
  readonly answerMs?: number
  /** Interval between checks in ms. Default 5,000. */
  readonly checkMs?: number
}

/** Callbacks. None may throw. */
export interface LiveEvents {
  onHint(hint: Hint): void
  /** Hints may have been lost: their effects must be looked up once. */
  onGap(): void
  /** This process has taken over the work of another one, and these sessions can be claimed now. */
  onTakenOver(name: string, keys: readonly string[]): void
  /** This process must not claim any more: other processes may consider it dead. */
  onFenced(): void
  /** This process may claim, and is registered under this name. */
  onRegistered(name: string): void
  /** Warning for the operator: something is degraded. */
  onWarning(message: string): void
  onError(error: unknown): void
}

/** Counters of this process since the store was opened. */
export interface LiveMetrics {
  readonly direct: ConnectionState | 'none'
  readonly reconnects: number
  /** Number of dead processes whose work this one has taken over. */
  readonly takeovers: number
  readonly fences: number
  readonly hintBatches: number
  readonly hintsSent: number
  readonly hintsFailed: number
  readonly hintsReceived: number
  readonly gaps: number
  /** Time in ms from sending the last batch to its return. Undefined if none has come back. */
  readonly notifyLagMs: number | undefined
}

const poolerWarning =
  'The direct connection to Postgres goes through a pooler that shares connections between transactions. This process polls instead of listening, ' +
  'and other processes notice its death by its leases alone. Set directConnectionString to the server, or to a pool in session mode.'

/** Everything that needs sessions of the server: the lock of this process, its watch over the next process, and hints. */
export class LiveConnection {
  readonly #options: LiveConnectionOptions
  readonly #direct: SessionConnection | undefined
  readonly #watching: SessionConnection | undefined
  readonly #registration: Registration
  readonly #watcher: Watcher
  readonly #sender: HintSender
  readonly #listener: HintListener
  #isClosing = false
  #fences = 0
  #notifyLagMs: number | undefined

  constructor(options: LiveConnectionOptions) {
    this.#options = options
    const { events, newClient, isMember } = options
    this.#registration = new Registration({
      ...options,
      onRegistered: (name) => this.#registered(name),
      onFenced: () => {
        this.#fences += 1
        events.onFenced()
      },
    })
    const hints = {
      channel: channelOf(options),
      sender: options.newId(),
      clock: options.clock,
      onError: (error: unknown) => events.onError(error),
    }
    this.#sender = new HintSender({ ...hints, queries: { query: (text, values) => this.#queries.query(text, values) } })
    this.#listener = new HintListener({
      ...hints,
      onHint: (hint) => events.onHint(hint),
      onGap: () => events.onGap(),
      onOwn: (batch) => (this.#notifyLagMs = this.#sender.ageOf(batch) ?? this.#notifyLagMs),
    })
    this.#watcher = this.#makeWatcher()
    this.#direct = newClient && this.#connectionFor(newClient, [this.#listener, ...(isMember ? [this.#registration] : [])])
    this.#watching = isMember ? newClient && this.#connectionFor(newClient, [this.#watcher]) : undefined
  }

  /** Tries once to open the direct connection. If that fails, keeps trying in the background. */
  async open(): Promise<ConnectionState | 'none'> {
    return this.#direct?.open() ?? 'none'
  }

  /** False if other processes may consider this one dead. */
  get mayClaim(): boolean {
    return !this.#isWatched || this.#registration.name !== undefined
  }

  /** Name under which this process must be registered to claim. Undefined if only leases show that it is alive. Empty: it has none now. */
  get processName(): string | undefined {
    return this.#isWatched ? (this.#registration.name ?? '') : undefined
  }

  get #isWatched(): boolean {
    return this.#options.isMember && this.#direct !== undefined && this.#direct.state !== 'pooled'
  }

  /** Must be called after the commit. */
  tell(hint: Hint): void {
    this.#sender.tell(hint)
  }

  metrics(): LiveMetrics {
    const { batches, sent, failed } = this.#sender.counts
    const { received, gaps } = this.#listener.counts
    return {
      direct: this.#direct?.state ?? 'none',
      reconnects: this.#direct?.reconnects ?? 0,
      takeovers: this.#watcher.takeovers,
      fences: this.#fences,
      hintBatches: batches,
      hintsSent: sent,
      hintsFailed: failed,
      hintsReceived: received,
      gaps,
      notifyLagMs: this.#notifyLagMs,
    }
  }

  /** Sends the last hints, and removes the lock and the row of this process. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#sender.close()
    await this.#watching?.close()
    await this.#direct?.close()
  }

  get #queries(): Queries {
    return this.#direct?.state === 'open' ? this.#direct : this.#options.pool
  }

  /** Opens the watching connection: before its registration this process has nothing to watch. */
  #registered(name: string): void {
    if (this.#watching?.state === 'closed' && !this.#isClosing) void this.#watching.open()
    this.#options.events.onRegistered(name)
  }

  #makeWatcher(): Watcher {
    const { events } = this.#options
    return new Watcher({
      ...this.#options,
      place: () => this.#registration.place,
      onTakenOver: (name, keys) => events.onTakenOver(name, keys),
      cancel: async (backend) => this.#direct?.query('select pg_cancel_backend($1)', [backend]),
      // The server has ended the connection, and this process has not noticed yet.
      onMissing: ({ name }) => {
        if (name === this.#registration.name) this.#direct?.drop()
      },
      onError: (error) => events.onError(error),
    })
  }

  #connectionFor(newClient: NewClient, users: readonly SessionUser[]): SessionConnection {
    const { events } = this.#options
    return new SessionConnection({
      ...this.#options,
      newClient,
      users,
      onError: (error: SessionError) => events.onError(error),
      onPooler: () => events.onWarning(poolerWarning),
    })
  }
}
