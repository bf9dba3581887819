import type { Clock } from '@bowline/llm'
import { BridgeError } from './errors.ts'

export interface RequestBookOptions {
  readonly clock: Clock
  /** How long a finished request can still be joined. */
  readonly retentionMs: number
  /** Finished requests beyond this number leave, oldest first. */
  readonly maxRecords: number
}

export interface RequestKey {
  readonly owner: string
  readonly requestId: string
}

interface Finished<T> {
  readonly entry: Entry<T>
  readonly endedAt: number
}

interface Entry<T> {
  readonly payloadHash: string
  readonly request: T
}

/** One record per request id and owner, so that a repeat joins what it repeats. Running ones never leave. */
export class RequestBook<T> {
  readonly #options: RequestBookOptions
  readonly #running = new Map<string, Entry<T>>()
  /** In order of their end. */
  readonly #finished = new Map<string, Finished<T>>()

  constructor(options: RequestBookOptions) {
    this.#options = options
  }

  get runningCount(): number {
    return this.#running.size
  }

  running(): readonly T[] {
    return [...this.#running.values()].map((entry) => entry.request)
  }

  /** Throws `PROTOCOL` when the id stands for another payload. */
  find(key: RequestKey, payloadHash: string): T | undefined {
    this.#forgetOld()
    const id = mapKey(key)
    const entry = this.#running.get(id) ?? this.#finished.get(id)?.entry
    if (entry && entry.payloadHash !== payloadHash) {
      const details = { reason: 'id-reused', requestId: key.requestId }
      throw new BridgeError('PROTOCOL', `The request id ${key.requestId} was used for another request`, { details })
    }
    return entry?.request
  }

  add(key: RequestKey, payloadHash: string, request: T): void {
    this.#running.set(mapKey(key), { payloadHash, request })
  }

  finish(key: RequestKey): void {
    const id = mapKey(key)
    const entry = this.#running.get(id)
    if (!entry) return
    this.#running.delete(id)
    this.#finished.set(id, { entry, endedAt: this.#options.clock.now() })
    this.#forgetOld()
  }

  #forgetOld(): void {
    const oldest = this.#options.clock.now() - this.#options.retentionMs
    for (const [id, { endedAt }] of this.#finished) {
      if (endedAt >= oldest && this.#finished.size <= this.#options.maxRecords) return
      this.#finished.delete(id)
    }
  }
}

function mapKey({ owner, requestId }: RequestKey): string {
  return JSON.stringify([owner, requestId])
}
