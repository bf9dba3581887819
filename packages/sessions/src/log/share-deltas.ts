import type { DeltaEvent } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { Claim, DeltaPlace, DeltaStore } from '../contract/session-store.ts'
import { deltaBytes } from './event-bytes.ts'

const gatherMs = 30
const gatherBytes = 4 * 1024
/** Limit of waiting bytes, exceeded only if the store does not keep up. */
const mostBytes = 64 * 1024

interface Gathered extends DeltaPlace {
  readonly events: DeltaEvent[]
  bytes: number
}

/**
 * Collects the deltas of a run and pushes them to the store for readers in other processes. The run never waits for that. If the
 * store is too slow or fails, drops the deltas until the next durable event of the run.
 */
export class DeltaSharer {
  readonly #deltas: DeltaStore
  readonly #clock: Clock
  readonly #claim: Claim
  readonly #onError: (error: unknown) => void
  #gathered: Gathered | undefined
  #isPushing = false
  #cancel: (() => void) | undefined
  /** Deltas after this `base` are dropped. */
  #leftOut: number | undefined

  /** `onError` is called when deltas were not pushed, at most once per message. Must not throw. */
  constructor(deltas: DeltaStore, clock: Clock, claim: Claim, onError: (error: unknown) => void) {
    this.#deltas = deltas
    this.#clock = clock
    this.#claim = claim
    this.#onError = onError
  }

  add(event: DeltaEvent, { base, n }: DeltaPlace): void {
    if (this.#leftOut === base) return
    const gathered = this.#gathered?.base === base ? this.#gathered : (this.#gathered = { base, n, events: [], bytes: 0 })
    gathered.events.push(event)
    gathered.bytes += deltaBytes(event)
    if (gathered.bytes > mostBytes) this.#leaveOut(base)
    else if (gathered.bytes >= gatherBytes) this.#push()
    else this.#cancel ??= this.#clock.setTimer(this.#clock.now() + gatherMs, () => this.#pushGathered())
  }

  #pushGathered(): void {
    this.#cancel = undefined
    this.#push()
  }

  /** Drops the deltas, which a durable event has replaced. */
  clear(): void {
    this.#gathered = undefined
    this.#cancel?.()
    this.#cancel = undefined
  }

  #leaveOut(base: number): void {
    this.#leftOut = base
    this.clear()
  }

  #push(): void {
    const gathered = this.#gathered
    if (this.#isPushing || !gathered) return
    this.clear()
    this.#isPushing = true
    const { base, n, events } = gathered
    const { id: runId, epoch, session: key } = this.#claim.run
    this.#deltas
      .push({ key, runId, epoch, base, n, events })
      .catch((error: unknown) => {
        // Later deltas would follow a gap.
        this.#leaveOut(base)
        this.#onError(error)
      })
      .finally(() => {
        this.#isPushing = false
        if (this.#cancel === undefined) this.#push()
      })
  }
}
