import type { StoredMessage } from '@bowline/agent-loop'
import { SessionError } from '../errors.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { SessionRecord, SessionSettings } from '../contract/records.ts'
import { isPartialCopy } from './tree/partial-copy.ts'

/** What a handle says of its session, for the case that it has to be made. */
export interface SessionIdentity {
  readonly key: string
  readonly agent: string
  /** True when the caller named the agent, false when it is the default. */
  readonly agentNamed: boolean
  readonly owner?: string
  readonly metadata: SessionRecord['metadata']
  readonly settings: SessionSettings
  /** The messages that it begins with. */
  readonly history?: readonly StoredMessage[]
}

/**
 * The way of one handle to its session. The handle stays with the session that it met first: when that is deleted, another
 * one under the same key is not taken for it.
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

  /** The incarnation that this handle met. Throws if the handle is closed. */
  get incarnation(): string | undefined {
    this.#checkOpen()
    return this.#incarnation
  }

  /** The session as it stands, also when it has expired; null when it can be made. */
  async find(): Promise<SessionRecord | null> {
    const found = await this.#read()
    return 'value' in found ? found.value : null
  }

  /** Throws `session-missing` and `session-deleted`. */
  async required(): Promise<SessionRecord> {
    const found = await this.#read()
    if ('value' in found) return found.value
    throw found.status === 'deleted' ? this.#deleted() : this.#missing()
  }

  /** Throws `session-expired` besides. */
  async writable(): Promise<SessionRecord> {
    return this.checkAlive(await this.required())
  }

  checkAlive(session: SessionRecord): SessionRecord {
    if (session.expiredAt === undefined) return session
    throw new SessionError('session-expired', `The session ${this.key} has expired: it can be read, and not written.`)
  }

  /** From now on this session, and no other one under the key. */
  bind(incarnation: string): void {
    this.#incarnation ??= incarnation
  }

  /** The handle is of no use any more; another one is. */
  close(): void {
    this.#isClosed = true
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new SessionError('handle-closed', `This handle of the session ${this.key} was closed: take a new one.`)
  }

  async #read() {
    this.#checkOpen()
    const read = await this.#store.readSession(this.key)
    if (!('value' in read)) {
      if (this.#incarnation !== undefined) throw this.#deleted()
      return read
    }
    // Until all of a copy is there, nothing of it is.
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
    return new SessionError('session-missing', `There is no session ${this.key}.`)
  }

  #deleted(): SessionError {
    return new SessionError('session-deleted', `The session ${this.key} was deleted; a new handle makes a new one.`)
  }
}
