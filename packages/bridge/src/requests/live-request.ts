import type { Clock } from '@bowline/llm'
import type { BridgeEvent } from '../agent.ts'
import type { BridgeOutcome, BridgeResult, BridgeRun, RequestIds } from '../bridge-contract.ts'
import { Attempt } from './attempt.ts'
import type { RequestKind } from './request-record.ts'
import { Waiters } from './waiters.ts'
import type { Watch } from './watch.ts'

export interface RequestIdentity {
  readonly owner: string
  readonly kind: RequestKind
  readonly payloadHash: string
  readonly ids: RequestIds
}

/** A request that this process works on, as its callers see it: ids, events, result. */
export class LiveRequest {
  readonly owner: string
  readonly kind: RequestKind
  readonly payloadHash: string
  readonly watch: Watch
  #ids: RequestIds
  #status: 'queued' | 'running' = 'queued'
  #progress: BridgeOutcome['progress']
  #attempt = new Attempt()
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

  /** Resolves once the request has ended and its cleanup is done. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Returns a handle of the current attempt of work. */
  run(): BridgeRun {
    const attempt = this.#attempt
    const ids = (): RequestIds => this.#ids
    return {
      get requestId() {
        return ids().requestId
      },
      get sessionId() {
        return ids().sessionId
      },
      accepted: () => this.accepted,
      result: () => attempt.result,
      [Symbol.asyncIterator]: () => attempt.open(),
    }
  }

  /** Takes over the ids of the earlier request that this one joins, or the agent id once it is known. */
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
    this.#attempt.publish(event)
  }

  /** Starts a new attempt when work resumes. */
  goOn(): void {
    if (this.#attempt.settled) this.#attempt = new Attempt()
  }

  /** Settles the current attempt, because the request waits for input. */
  pause(result: BridgeResult): void {
    this.#settle(result)
  }

  end(result: BridgeResult): void {
    this.#accepted.resolve(false)
    this.goOn()
    this.#settle(result)
    this.#ended.resolve()
  }

  /** Resolves when the request waits for input or has ended, after `waitMs`, or when the signal is aborted. */
  async wait(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#attempt.settled) await this.#waiters.wait(waitMs, signal)
  }

  now(): BridgeResult {
    return this.#attempt.settled ?? { ok: true, status: this.#status, ...this.#ids, ...(this.#progress && { progress: this.#progress }) }
  }

  #settle(result: BridgeResult): void {
    this.#attempt.settle(result)
    this.#waiters.wakeAll()
  }
}
