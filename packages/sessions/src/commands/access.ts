import type { StoredMessage } from '@bowline/agent-loop'
import { SessionError } from '../errors.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { SessionRecord, SessionSettings } from '../contract/records.ts'
import { isPartialCopy } from './tree/partial-copy.ts'

/** Facts of a session that a handle knows, in case it has to create the session. */
export interface SessionIdentity {
  readonly key: string
  readonly agent: string
  /** True if the caller named the agent, false if it is the default. */
  readonly agentNamed: boolean
  readonly owner?: string
  readonly metadata: SessionRecord['metadata']
  readonly settings: SessionSettings
  /** Messages that the session starts with. */
  readonly history?: readonly StoredMessage[]
}

/**
 * Access of one handle to its session. The handle stays bound to the first session that it meets: if that is deleted, a new one
 * under the same key is not used instead.
 */
export class SessionAccess {
  readonly identity: SessionIdentity
  readonly #store: SessionStore
  #incarnation: string | undefined
  #isClosed = false

  constructor(store: SessionStore, identity: SessionIdentity) {
    this.#store = store
    this.identity = identity
  }

  get key(): string {
    return this.identity.key
  }

  /** The incarnation that this handle is bound to. Throws if the handle is closed. */
  get incarnation(): string | undefined {
    this.#checkOpen()
    return this.#incarnation
  }

  /** Returns the session, even if it has expired. Returns null if it can be created. */
  async find(): Promise<SessionRecord | null> {
    const found = await this.#read()
    return 'value' in found ? found.value : null
  }

  /** Returns the session. Throws `session-missing` and `session-deleted`. */
  async required(): Promise<SessionRecord> {
    const found = await this.#read()
    if ('value' in found) return found.value
    throw found.status === 'deleted' ? this.#deleted() : this.#missing()
  }

  /** Like `required`; throws `session-expired` too. */
  async writable(): Promise<SessionRecord> {
    return this.checkAlive(await this.required())
  }

  checkAlive(session: SessionRecord): SessionRecord {
    if (session.expiredAt === undefined) return session
    throw new SessionError('session-expired', `The session ${this.key} has expired and can only be read. Start another session.`)
  }

  /** Binds the handle to this incarnation. */
  bind(incarnation: string): void {
    this.#incarnation ??= incarnation
  }

  /** Makes the handle unusable. A new handle is needed. */
  close(): void {
    this.#isClosed = true
  }

  #checkOpen(): void {
    if (this.#isClosed)
      throw new SessionError('handle-closed', `This handle of the session ${this.key} is closed. Get a new one with runtime.session(key).`)
  }

  async #read() {
    this.#checkOpen()
    const read = await this.#store.readSession(this.key)
    if (!('value' in read)) {
      if (this.#incarnation !== undefined) throw this.#deleted()
      return read
    }
    // A partial copy counts as missing until it is complete.
    if (isPartialCopy(read.value)) return { status: 'missing' } as const
    const { id, owner, agent } = read.value
    if (owner !== this.identity.owner) throw this.#missing()
    if (this.identity.agentNamed && agent !== this.identity.agent) {
      const text = `The session ${this.key} belongs to the agent ${agent}, not ${this.identity.agent}.`
      throw new SessionError('agent-mismatch', text)
    }
    if (this.#incarnation !== undefined && this.#incarnation !== id) throw this.#deleted()
    this.bind(id)
    return read
  }

  #missing(): SessionError {
    return new SessionError('session-missing', `There is no session ${this.key}. Create it with send.`)
  }

  #deleted(): SessionError {
    return new SessionError('session-deleted', `The session ${this.key} was deleted. Use a new handle to start a new one.`)
  }
}
