import type { Clock } from '@bowline/llm'
import type { BridgeEvent } from '../agent.ts'
import type { BridgeOutcome, BridgeResult, BridgeRun, RequestIds } from '../bridge-contract.ts'
import { Episode } from './episode.ts'
import type { RequestKind } from './request-record.ts'
import { Waiters } from './waiters.ts'
import type { Watch } from './watch.ts'

export interface RequestIdentity {
  readonly owner: string
  readonly kind: RequestKind
  readonly payloadHash: string
  readonly ids: RequestIds
}

/** A request that this process works on, to those who wait for it: ids, events, result. */
export class LiveRequest {
  readonly owner: string
  readonly kind: RequestKind
  readonly payloadHash: string
  readonly watch: Watch
  #ids: RequestIds
  #status: 'queued' | 'running' = 'queued'
  #progress: BridgeOutcome['progress']
  #episode = new Episode()
  readonly #clock: Clock
  readonly #waiters: Waiters
  readonly #accepted = Promise.withResolvers<boolean>()
  readonly #ended = Promise.withResolvers<void>()

  constructor({ owner, kind, payloadHash, ids }: RequestIdentity, watch: Watch, clock: Clock) {
    this.owner = owner
    this.kind = kind
    this.payloadHash = payloadHash
    this.watch = watch
    this.#ids = ids
    this.#clock = clock
    this.#waiters = new Waiters(clock)
  }

  get ids(): RequestIds {
    return this.#ids
  }

  get accepted(): Promise<boolean> {
    return this.#accepted.promise
  }

  /** Resolves once it is over and all that hung on it is settled. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** What callers hold: the stretch of work that goes on now. */
  run(): BridgeRun {
    const episode = this.#episode
    const ids = (): RequestIds => this.#ids
    return {
      get requestId() {
        return ids().requestId
      },
      get sessionId() {
        return ids().sessionId
      },
      accepted: () => this.accepted,
      result: () => episode.result,
      [Symbol.asyncIterator]: () => episode.open(),
    }
  }

  /** It turned out to be this earlier request. */
  become(ids: RequestIds): void {
    this.#ids = ids
  }

  accept(): void {
    this.#accepted.resolve(true)
  }

  start(): void {
    this.#status = 'running'
  }

  note(event: BridgeEvent, chars: number): void {
    const message = event.type === 'progress' ? event.message : this.#progress?.message
    this.#progress = { ...(message !== undefined && { message }), chars, at: this.#clock.now() }
    this.#episode.publish(event)
  }

  /** Somebody works on it again. */
  goOn(): void {
    if (this.#episode.settled) this.#episode = new Episode()
  }

  /** It waits for input. */
  pause(result: BridgeResult): void {
    this.#settle(result)
  }

  end(result: BridgeResult): void {
    this.#accepted.resolve(false)
    this.goOn()
    this.#settle(result)
    this.#ended.resolve()
  }

  /** Ends when it waits for input or is over, when the time is, or with the signal. */
  async wait(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#episode.settled) await this.#waiters.wait(waitMs, signal)
  }

  now(): BridgeResult {
    return this.#episode.settled ?? { ok: true, status: this.#status, ...this.#ids, ...(this.#progress && { progress: this.#progress }) }
  }

  #settle(result: BridgeResult): void {
    this.#episode.settle(result)
    this.#waiters.wakeAll()
  }
}
