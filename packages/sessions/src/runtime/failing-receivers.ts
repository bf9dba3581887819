import type { Clock } from '@bowline/llm'

interface Receiver {
  readonly hook: string
  /** Failed attempts in a row. */
  failures: number
  /** Why the last attempt failed. */
  error: string
  /** Time of the next probe. */
  probeAt: number
  isProbing: boolean
}

export interface FailingReceiversOptions {
  readonly clock: Clock
  readonly random: () => number
  /** Default `mostReceivers`. */
  readonly most?: number
}

/** Highest number of receivers that are remembered. Above it, the oldest one is forgotten and tried again. */
const mostReceivers = 1000
/** Failures in a row that pause a receiver. Fewer may come from one notice that it refuses, which must not delay the others. */
const failuresToPause = 8
const shortestDelayMs = 1000
const longestPauseMs = 60_000

/** Returns the backoff in ms after this many failures: exponential, with up to half of it random. */
export function delayAfter(failures: number, random: () => number, longestMs: number): number {
  const delay = Math.min(longestMs, shortestDelayMs * 2 ** Math.min(failures - 1, 30))
  return Math.ceil(delay * (0.5 + random() / 2))
}

/** Receivers of webhooks whose last attempts failed. A paused one gets only probes, one notice at a time. */
export class FailingReceivers {
  readonly #options: FailingReceiversOptions
  readonly #receivers = new Map<string, Receiver>()

  constructor(options: FailingReceiversOptions) {
    this.#options = options
  }

  /** Names of the paused receivers. */
  get paused(): readonly string[] {
    return this.#allPaused().map(([name]) => name)
  }

  /** Time of the next probe; Infinity if there is none. */
  get nextProbeAt(): number {
    return Math.min(Infinity, ...this.#allPaused().map(([, { isProbing, probeAt }]) => (isProbing ? Infinity : probeAt)))
  }

  /** Returns the receivers to probe now, each with its hook. They are due again after a pause, whatever becomes of the probe. */
  takeDue(): readonly { readonly receiver: string; readonly hook: string }[] {
    const now = this.#options.clock.now()
    const due = this.#allPaused().filter(([, { isProbing, probeAt }]) => !isProbing && probeAt <= now)
    for (const [, each] of due) this.#pause(each)
    return due.map(([receiver, { hook }]) => ({ receiver, hook }))
  }

  /** Notes that a probe is under way, or over. */
  setProbing(receiver: string, isProbing: boolean): void {
    const found = this.#receivers.get(receiver)
    if (found) found.isProbing = isProbing
  }

  /** Sets the time of the next probe. Forgets the receiver if nothing waits for it. */
  probeAt(receiver: string, atMs: number | null): void {
    const found = this.#receivers.get(receiver)
    if (atMs === null) this.#receivers.delete(receiver)
    else if (found) found.probeAt = atMs
  }

  /** Returns why a paused receiver failed last. Undefined: it is not paused. */
  errorOf(receiver: string): string | undefined {
    return this.#allPaused().find(([name]) => name === receiver)?.[1].error
  }

  failed(receiver: string, hook: string, error: string): void {
    const { most = mostReceivers } = this.#options
    const before = this.#receivers.get(receiver)
    const [oldest] = this.#receivers.keys()
    if (!before && this.#receivers.size >= most && oldest !== undefined) this.#receivers.delete(oldest)
    const found = before ?? { hook, failures: 0, error, probeAt: 0, isProbing: false }
    this.#receivers.set(receiver, found)
    found.error = error
    // Attempts that were under way when it was paused do not make the pause longer.
    if (found.failures >= failuresToPause && !found.isProbing) return
    found.failures += 1
    this.#pause(found)
  }

  succeeded(receiver: string): void {
    this.#receivers.delete(receiver)
  }

  #allPaused(): readonly (readonly [string, Receiver])[] {
    return [...this.#receivers].filter(([, { failures }]) => failures >= failuresToPause)
  }

  #pause(receiver: Receiver): void {
    const { clock, random } = this.#options
    receiver.probeAt = clock.now() + delayAfter(Math.max(1, receiver.failures + 1 - failuresToPause), random, longestPauseMs)
  }
}
