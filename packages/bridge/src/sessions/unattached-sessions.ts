import type { SessionRecord } from './session-record.ts'

const maxOwners = 10_000

export interface UnattachedOptions {
  /** The records of an owner that are not over. */
  readonly list: (owner: string) => AsyncIterable<SessionRecord>
  readonly isAttached: (record: SessionRecord) => boolean
}

/**
 * The durable sessions of each owner that this process does not hold open: an earlier process left them in the store. They
 * are read once per owner, and once more before an owner is refused because of them.
 */
export class UnattachedSessions {
  readonly #options: UnattachedOptions
  /** The owner that was read first is forgotten first. */
  readonly #known = new Map<string, Promise<Map<string, SessionRecord>>>()

  constructor(options: UnattachedOptions) {
    this.#options = options
  }

  async count(owner: string, isCounted: (agentId: string) => boolean): Promise<number> {
    const known = await (this.#known.get(owner) ?? this.#readFor(owner))
    return [...known.values()].filter((record) => isCounted(record.agentId) && !this.#options.isAttached(record)).length
  }

  /** Reads the records of the owner anew with the next count. */
  forget(owner: string): void {
    this.#known.delete(owner)
  }

  /** The session is over. */
  remove({ owner, sessionId }: Pick<SessionRecord, 'owner' | 'sessionId'>): void {
    void this.#known.get(owner)?.then((known) => known.delete(sessionId), () => {})
  }

  #readFor(owner: string): Promise<Map<string, SessionRecord>> {
    const reading = this.#read(owner)
    this.#known.set(owner, reading)
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxOwners && oldest !== undefined) this.#known.delete(oldest)
    reading.catch(() => this.#known.delete(owner))
    return reading
  }

  async #read(owner: string): Promise<Map<string, SessionRecord>> {
    const found = new Map<string, SessionRecord>()
    for await (const record of this.#options.list(owner)) {
      if (record.durable) found.set(record.sessionId, record)
    }
    return found
  }
}
