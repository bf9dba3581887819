import type { SessionRecord } from './session-record.ts'

const usualMaxOwners = 10_000

export interface UnattachedOptions {
  /** Yields the records of an owner's open sessions. */
  readonly list: (owner: string) => AsyncIterable<SessionRecord>
  readonly isAttached: (record: SessionRecord) => boolean
  /** Number of owners whose records are kept. Set by tests only. */
  readonly maxOwners?: number
}

/**
 * Counts the durable sessions that an earlier process left in the store and this process has not attached. Their records are read
 * once per owner, and again before an owner is refused because of them.
 */
export class UnattachedSessions {
  readonly #options: UnattachedOptions
  /** Ordered by the time of reading; the first entry is evicted first. */
  readonly #known = new Map<string, Promise<Map<string, SessionRecord>>>()

  constructor(options: UnattachedOptions) {
    this.#options = options
  }

  async count(owner: string, isCounted: (agentId: string) => boolean): Promise<number> {
    const known = await (this.#known.get(owner) ?? this.#readFor(owner))
    return [...known.values()].filter((record) => isCounted(record.agentId) && !this.#options.isAttached(record)).length
  }

  /** Discards the cached records, so that the next count reads them again. */
  forget(owner: string): void {
    this.#known.delete(owner)
  }

  /** Removes an ended session. */
  remove({ owner, sessionId }: Pick<SessionRecord, 'owner' | 'sessionId'>): void {
    void this.#known.get(owner)?.then(
      (known) => known.delete(sessionId),
      () => {},
    )
  }

  #readFor(owner: string): Promise<Map<string, SessionRecord>> {
    const { maxOwners = usualMaxOwners } = this.#options
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
