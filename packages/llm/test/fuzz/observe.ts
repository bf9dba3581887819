import { getEventListeners } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import {
  LlmError,
  readEvents,
  streamMessage,
  type AssistantMessage,
  type Clock,
  type MessageEvent,
  type MessageStream,
  type Timeouts,
} from '../../src/index.ts'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { hello, settle } from '../support.ts'
import { planned, type ProviderPlan, type Seen } from './provider.ts'
import { asJson } from './values.ts'

export interface ReaderPlan {
  /**
   * `loop` is a `for await`, `burst` requests three events at once, `late` reads only after `result()`, `push` receives events by
   * callback without pauses.
   */
  readonly mode: 'loop' | 'burst' | 'late' | 'push'
  /** Pauses of the reader after each event, in turn. */
  readonly pausesMs: readonly number[]
  readonly leavesBehind: number | undefined
  readonly leavesBy: 'break' | 'throw'
  /** Number of events after which `result()` is called, and whether the reader then waits for it. */
  readonly asksBehind: number | undefined
  readonly waits: boolean
}

export interface Disturbance {
  readonly atMs: number
  readonly kind: 'abort' | 'signal' | 'result'
  readonly reason: unknown
}

export interface Scenario {
  readonly provider: ProviderPlan
  readonly reader: ReaderPlan
  readonly disturbances: readonly Disturbance[]
  readonly timeouts: Timeouts
  /** Whether the signal is aborted before the call. */
  readonly startsAborted: boolean
}

/** Everything observable of one call, after it and its surroundings have settled. */
export interface Observed {
  readonly events: readonly MessageEvent[]
  readonly message: AssistantMessage
  readonly left: boolean
  /** The first abort, even if the call was over, and the parts that the provider had sent by then. */
  readonly abort: Abort | undefined
  readonly provider: Seen
  readonly faults: readonly string[]
}

export interface Abort {
  readonly atMs: number
  readonly by: 'abort' | 'signal'
  readonly reason: unknown
  readonly finishTaken: boolean
}

const startedAt = 1_000
/** Time in ms after which a call is stopped. */
export const longestMs = 6_000

/** Runs one scenario on its own clock. */
export async function observe(scenario: Scenario): Promise<Observed> {
  const call = new ObservedCall(scenario)
  return call.run()
}

class ObservedCall {
  readonly #scenario: Scenario
  readonly #clock: ManualClock = manualClock(startedAt)
  readonly #timers = new Set<object>()
  readonly #controller = new AbortController()
  readonly #seen: Seen
  readonly #stream: MessageStream
  readonly #events: MessageEvent[] = []
  readonly #copies: MessageEvent[] = []
  readonly #faults: string[] = []
  #left = false
  #ended = false
  #abort: Observed['abort']

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    const { model, seen } = planned(scenario.provider, this.#clock)
    this.#seen = seen
    if (scenario.startsAborted) this.#controller.abort('from the start')
    this.#stream = streamMessage({
      model,
      messages: hello,
      clock: this.#countedClock(),
      abortSignal: this.#controller.signal,
      timeouts: scenario.timeouts,
      price: { input: '1.5', output: '6' },
    })
  }

  async run(): Promise<Observed> {
    for (const disturbance of this.#scenario.disturbances) {
      this.#clock.setTimer(startedAt + disturbance.atMs, () => this.#disturb(disturbance))
    }
    await settle()
    if (this.#seen.calls > 0) this.#faults.push('L18: a call before anybody asked for it')
    const reading = this.#read()
    await this.#clock.advance(longestMs)
    if (!this.#ended) await this.#stop('the scenario is over')
    const message = await this.#settled()
    await this.#clock.advance(longestMs * 5)
    await reading
    await this.#checkRest(message)
    return {
      events: this.#events,
      message,
      left: this.#left,
      abort: this.#abort,
      provider: this.#seen,
      faults: this.#faults,
    }
  }

  /** Counts only the timers of llm, not those of provider and reader. */
  #countedClock(): Clock {
    return {
      now: () => this.#clock.now(),
      setTimer: (atMs, run) => {
        const timer = {}
        this.#timers.add(timer)
        const cancel = this.#clock.setTimer(atMs, () => (this.#timers.delete(timer), run()))
        return () => (this.#timers.delete(timer), cancel())
      },
    }
  }

  async #read(): Promise<void> {
    const { mode, leavesBy } = this.#scenario.reader
    if (mode === 'late') await this.#result()
    if (mode === 'burst') return this.#readInBursts()
    if (mode === 'push') return this.#readPushed()
    try {
      for await (const event of this.#stream) {
        await this.#take(event)
        if (!this.#wantsToLeave()) continue
        this.#left = true
        if (leavesBy === 'throw') throw new Error('the reader broke')
        break
      }
    } catch (error) {
      if (!this.#left) throw error
    }
    await this.#rest()
  }

  async #readInBursts(): Promise<void> {
    const iterator = this.#stream[Symbol.asyncIterator]()
    for (;;) {
      const results = await Promise.all([iterator.next(), iterator.next(), iterator.next()])
      for (const { value } of results) if (value) await this.#take(value)
      if (results.some(({ done }) => done)) break
      if (!this.#wantsToLeave()) continue
      this.#left = true
      await iterator.return?.()
      if ((await iterator.next()).done !== true) this.#faults.push('L23: events behind the leaving')
      break
    }
    await this.#rest()
  }

  async #readPushed(): Promise<void> {
    const broken = new Error('the reader broke')
    const reading = readEvents(this.#stream, (event) => {
      if (this.#left) this.#faults.push('L23: events behind the leaving')
      void this.#note(event)
      if (!this.#wantsToLeave()) return
      this.#left = true
      throw broken
    })
    const [{ reason, value }] = (await Promise.allSettled([reading])) as [{ reason?: unknown; value?: unknown }]
    if (reason !== (this.#left ? broken : undefined)) throw reason
    if (!this.#left && value !== (await this.#result())) this.#faults.push('L19: the reading gives another message')
    await this.#rest()
  }

  /** Once the reader is done, nothing may be waiting any more. */
  async #rest(): Promise<void> {
    const leftAt = this.#clock.now()
    await settle()
    const { opened, ended, cancelled, signal } = this.#seen
    const isTold = !opened || ended || (cancelled && signal?.aborted)
    if (this.#left && !isTold && !this.#cannotBeTold()) this.#faults.push('L23: the provider goes on for nobody')
    const { at, timing } = await this.#result()
    if (at + timing.totalMs > leftAt) this.#faults.push('L23: the call has outlived its reader')
  }

  /** A stream that the provider has locked cannot be cancelled. */
  #cannotBeTold(): boolean {
    return this.#scenario.provider.opens === 'locked'
  }

  #wantsToLeave(): boolean {
    const { leavesBehind } = this.#scenario.reader
    return leavesBehind !== undefined && this.#events.length > leavesBehind
  }

  async #take(event: MessageEvent): Promise<void> {
    const { pausesMs, waits } = this.#scenario.reader
    const result = this.#note(event)
    if (waits) await result
    const count = this.#events.length
    const pauseMs = pausesMs.length > 0 ? (pausesMs[count % pausesMs.length] ?? 0) : 0
    if (pauseMs > 0) await new Promise<void>((resolve) => void this.#clock.setTimer(this.#clock.now() + pauseMs, resolve))
  }

  /** Records the event, and requests the result after it if planned. */
  #note(event: MessageEvent): Promise<AssistantMessage> | undefined {
    this.#copies.push(structuredClone(event))
    const count = this.#events.push(event)
    return count === this.#scenario.reader.asksBehind ? this.#result() : undefined
  }

  #result(): Promise<AssistantMessage> {
    const result = this.#stream.result()
    result.then(
      () => (this.#ended = true),
      (error: unknown) => this.#faults.push(`L19: result() rejects with ${String(error)}`),
    )
    return result
  }

  #disturb({ kind, reason }: Disturbance): void {
    if (kind === 'result') return void this.#result()
    const finishTaken = this.#seen.taken.some(isReadableFinish)
    this.#abort ??= { atMs: this.#clock.now(), by: kind, reason, finishTaken }
    if (kind === 'signal') this.#controller.abort(reason)
    else this.#stream.abort(reason as string)
  }

  async #stop(reason: string): Promise<void> {
    this.#disturb({ kind: 'abort', reason, atMs: 0 })
    await settle()
  }

  /** After an abort or its own end, the message must be available without time passing. */
  async #settled(): Promise<AssistantMessage> {
    const pending = Symbol('pending')
    const first = await Promise.race([
      this.#result(),
      settle()
        .then(() => settle())
        .then(() => pending),
    ])
    if (first !== pending) return first as AssistantMessage
    throw new Error('L30: result() has not settled')
  }

  #refusesIterator(): boolean {
    try {
      this.#stream[Symbol.asyncIterator]()
      return false
    } catch (error) {
      return LlmError.isInstance(error) && error.code === 'invalid-input'
    }
  }

  /** Checks what a call leaves, and that the events it gave out were not changed later. */
  async #checkRest(message: AssistantMessage): Promise<void> {
    const { taken: _, ...seen } = this.#seen
    const claim = (rule: string, holds: boolean, what: string): void => {
      if (!holds) this.#faults.push(`${rule}: ${what}`)
    }
    this.#events.forEach((event, place) => claim('L5', isDeepStrictEqual(event, this.#copies[place]), `event ${place} has changed`))
    claim('L18', seen.calls <= 1, `${seen.calls} calls`)
    claim('L19', (await this.#stream.result()) === message, 'a later result() is another message')
    claim('L19', this.#stream.result() === this.#stream.result(), 'result() gives several promises')
    claim('L21', this.#refusesIterator(), 'a second iterator')
    claim('L27', this.#timers.size === 0, `${this.#timers.size} timers are left`)
    claim('L27', getEventListeners(this.#controller.signal, 'abort').length === 0, 'a listener is left')
    const isOver = seen.ended || seen.cancelled || this.#cannotBeTold()
    claim('L27', !seen.opened || isOver, 'the stream of the provider is neither at its end nor cancelled')
    claim('L27', seen.calls === 0 || seen.ended || seen.signal?.aborted === true, 'the provider does not know that it may stop')
  }
}

/** A finish with a missing or unreadable reason counts as a malformed part. */
function isReadableFinish(part: unknown): boolean {
  if (typeOf(part) !== 'finish') return false
  try {
    const { finishReason, usage, providerMetadata } = part as Record<string, unknown>
    asJson({ finishReason, usage, providerMetadata })
    return typeof finishReason === 'object' && finishReason !== null && !Array.isArray(finishReason)
  } catch {
    return false
  }
}

function typeOf(part: unknown): unknown {
  try {
    return (part as { type?: unknown } | null | undefined)?.type
  } catch {
    return undefined
  }
}
