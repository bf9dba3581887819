import type { Clock } from '@bowline/llm'
import type { SessionError } from '../../errors.ts'
import type { Hint } from './hint-format.ts'
import { HintListener } from './hint-listener.ts'
import { HintSender } from './hint-sender.ts'
import type { NewClient, Queries } from './pg-session.ts'
import { Registration } from './registration.ts'
import { channelOf } from './scope.ts'
import type { ProcessScope } from './scope.ts'
import { SessionConnection } from './session-connection.ts'
import type { ConnectionState, SessionUser } from './session-connection.ts'
import { Watcher } from './watcher.ts'

export interface LiveConnectionOptions extends ProcessScope {
  /** Makes clients that keep their sessions. */
  readonly newClient: NewClient
  /** Names this process. */
  readonly owner: string
  readonly clock: Clock
  /** At least 0 and below 1. */
  readonly random: () => number
  /** A new text without spaces each time. */
  readonly newId: () => string
  /** Whether hints of others are listened to. They are sent in any case. */
  readonly listen: boolean
  /** Sends hints while there is no direct connection. It must not be a connection that a writer waits for. */
  readonly pool: Queries
  readonly events: LiveEvents
  /** Default 5,000: within this time a connection must be made and a check be answered. */
  readonly answerMs?: number
  /** Default 5,000. */
  readonly checkMs?: number
}

/** None of them may throw. */
export interface LiveEvents {
  onHint(hint: Hint): void
  /** Hints may have been lost: all that they would have told has to be looked for once. */
  onGap(): void
  /**
   * Takes over all that a dead process has: its leases and its tickets, in one statement. Called by one process at a time;
   * again, perhaps by another process, if it rejects or does not come to its end.
   */
  onLost(owner: string): Promise<void>
  /** This process must not claim any more: other processes may hold it for dead. */
  onFenced(): void
  /** This process may claim under this name. */
  onRegistered(owner: string): void
  /** For the operator: something works worse than it could. */
  onWarning(message: string): void
  onError(error: unknown): void
}

/** What this process has counted since it was opened. */
export interface LiveMetrics {
  readonly direct: ConnectionState
  readonly reconnects: number
  /** Processes whose lock fell free, and whose work this one has taken over. */
  readonly takeovers: number
  readonly fences: number
  readonly hintBatches: number
  readonly hintsSent: number
  readonly hintsFailed: number
  readonly hintsReceived: number
  readonly gaps: number
  /** From sending a batch to its return, of the last one. Undefined: none has come back. */
  readonly notifyLagMs: number | undefined
}

const poolerWarning =
  'The direct connection to Postgres goes through a pooler that shares connections between transactions. This process polls instead of listening, ' +
  'and other processes notice its death by its leases alone. Set directConnectionString to the server, or to a pool in session mode.'

/** All for which a process needs sessions of the server: its lock, its watch over the next process, and hints. */
export class LiveConnection {
  readonly #options: LiveConnectionOptions
  readonly #direct: SessionConnection
  readonly #watching: SessionConnection
  readonly #registration: Registration
  readonly #watcher: Watcher
  readonly #sender: HintSender
  readonly #listener: HintListener
  #isClosing = false
  #fences = 0
  #notifyLagMs: number | undefined

  constructor(options: LiveConnectionOptions) {
    this.#options = options
    const { events, listen } = options
    this.#registration = new Registration({
      ...options,
      onRegistered: (owner) => this.#registered(owner),
      onFenced: () => {
        this.#fences += 1
        events.onFenced()
      },
    })
    const hints = { channel: channelOf(options), sender: options.newId(), clock: options.clock, onError: (error: unknown) => events.onError(error) }
    this.#sender = new HintSender({ ...hints, queries: { query: (text, values) => this.#queries.query(text, values) } })
    this.#listener = new HintListener({
      ...hints,
      onHint: (hint) => events.onHint(hint),
      onGap: () => events.onGap(),
      onOwn: (batch) => (this.#notifyLagMs = this.#sender.ageOf(batch) ?? this.#notifyLagMs),
    })
    this.#watcher = this.#makeWatcher()
    this.#direct = this.#connectionFor(listen ? [this.#listener, this.#registration] : [this.#registration])
    this.#watching = this.#connectionFor([this.#watcher])
  }

  /** Tries once to open the direct connection. If that fails, goes on trying in the background. */
  open(): Promise<ConnectionState> {
    return this.#direct.open()
  }

  /**
   * The name under which this process may claim. Undefined: it must not claim. Through a pooler, the plain name: then nothing
   * but its leases says that this process lives.
   */
  get owner(): string | undefined {
    return this.#direct.state === 'pooled' ? this.#options.owner : this.#registration.owner
  }

  /** Must be called after the commit. */
  tell(hint: Hint): void {
    this.#sender.tell(hint)
  }

  metrics(): LiveMetrics {
    const { batches, sent, failed } = this.#sender.counts
    const { received, gaps } = this.#listener.counts
    return {
      direct: this.#direct.state,
      reconnects: this.#direct.reconnects,
      takeovers: this.#watcher.takeovers,
      fences: this.#fences,
      ...{ hintBatches: batches, hintsSent: sent, hintsFailed: failed, hintsReceived: received, gaps },
      notifyLagMs: this.#notifyLagMs,
    }
  }

  /** Sends the last hints, and leaves neither a lock nor a row. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#sender.close()
    await this.#watching.close()
    await this.#direct.close()
  }

  get #queries(): Queries {
    return this.#direct.state === 'open' ? this.#direct : this.#options.pool
  }

  /** There is nothing to watch before this process has its place. */
  #registered(owner: string): void {
    if (this.#watching.state === 'closed' && !this.#isClosing) void this.#watching.open()
    this.#options.events.onRegistered(owner)
  }

  #makeWatcher(): Watcher {
    const { events } = this.#options
    return new Watcher({
      ...this.#options,
      place: () => this.#registration.place,
      onLost: (owner) => events.onLost(owner),
      cancel: (backend) => this.#direct.query('select pg_cancel_backend($1)', [backend]),
      // The server has ended the connection, and this process has not noticed it yet.
      onMissing: ({ owner }) => {
        if (owner === this.#registration.owner) this.#direct.drop()
      },
      onError: (error) => events.onError(error),
    })
  }

  #connectionFor(users: readonly SessionUser[]): SessionConnection {
    const { events } = this.#options
    return new SessionConnection({
      ...this.#options,
      users,
      onError: (error: SessionError) => events.onError(error),
      onPooler: () => events.onWarning(poolerWarning),
    })
  }
}
