import type { Clock } from '@bowline/llm'
import { receiverOf, sessionHook, type NoticeOutcome, type NoticeRecord } from '../contract/notices.ts'
import type { Webhook } from '../contract/records.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { askAgain } from '../contract/steady-store.ts'
import type { GuardOptions } from '../net/guarded-request.ts'
import { delayAfter, FailingReceivers } from './failing-receivers.ts'
import type { ErrorContext } from './types.ts'

export interface CourierOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number
  /** Webhooks by name. */
  readonly webhooks: ReadonlyMap<string, Webhook>
  readonly guard: GuardOptions
  readonly hasTimers: boolean
  /** Tells the host the time at which something is due. */
  readonly tellHost: (atMs: number) => void
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
}

/** Longer than the longest attempt, so that no other process sends a notice that is being sent. */
const leaseMs = 30_000
/** Highest number of concurrent requests to one webhook. A webhook that never answers does not slow down the others. */
const mostPerWebhook = 8
/** Highest number of concurrent requests to the webhooks of all sessions together. */
const mostOfSessions = 32
const longestDelayMs = 3_600_000
const storeAwayMs = 5000
const defaultRetentionMs = 3 * 86_400_000

/**
 * Posts the pending notices of the store: at least once, and one at a time for each session and webhook. While a receiver fails, one
 * notice at a time probes it, and the others wait in the store.
 */
export class Courier {
  readonly #options: CourierOptions
  /** Notices that are being sent, by hook. */
  readonly #sending: ReadonlyMap<string, Set<Promise<void>>>
  readonly #failing: FailingReceivers
  #isOn = false
  #drains = 0
  /** True if there may be something to send. */
  #isAsked = false
  #claiming: Promise<void> | undefined
  #abort = new AbortController()
  #cancel: (() => void) | undefined
  #armedFor = Infinity
  /** Time at which the next notice can be claimed, as the store said last. */
  #nextAt = Infinity

  constructor(options: CourierOptions) {
    this.#options = options
    this.#failing = new FailingReceivers(options)
    this.#sending = new Map([...options.webhooks.keys(), sessionHook].map((hook) => [hook, new Set()]))
  }

  start(): void {
    this.#isOn = this.#options.hasTimers
    this.#abort = new AbortController()
    if (this.#isAsked) this.wake()
  }

  /** Waits up to `graceMs` for open requests. Then it aborts them, and the next process can send their notices at once. */
  async stop(graceMs: number): Promise<void> {
    this.#isOn = false
    this.#disarm()
    const { clock } = this.#options
    const cancel = clock.setTimer(clock.now() + graceMs, () => this.#abort.abort(), { hold: true })
    if (graceMs <= 0) this.#abort.abort()
    await this.#idle()
    cancel()
  }

  /** Called if a notice may be due, now or at `atMs`. */
  wake(atMs?: number): void {
    this.#isAsked = true
    const { clock, hasTimers, tellHost } = this.#options
    const at = atMs ?? clock.now()
    if (at <= clock.now() && this.#mayClaim) void this.#claim()
    else if (hasTimers) this.#arm(at)
    else if (this.#drains === 0) tellHost(at)
  }

  /** Time at which the next notice is due, as the store said last; null: none is pending. */
  get nextAt(): number | null {
    return this.#nextAt === Infinity ? null : this.#nextAt
  }

  /** Sends due notices, and those that `work` creates, until none is due. After an abort the rest stays pending. */
  async drainWhile<T>(work: () => Promise<T>, abortSignal?: AbortSignal): Promise<T> {
    const stop = (): void => this.#abort.abort()
    abortSignal?.addEventListener('abort', stop)
    this.#drains += 1
    try {
      if (this.#isAsked) void this.#claim()
      const result = await work()
      if (abortSignal?.aborted) stop()
      await this.#idle()
      return result
    } finally {
      this.#drains -= 1
      abortSignal?.removeEventListener('abort', stop)
      if (abortSignal?.aborted) this.#abort = new AbortController()
    }
  }

  get #mayClaim(): boolean {
    return (this.#isOn || this.#drains > 0) && !this.#abort.signal.aborted
  }

  get #requests(): readonly Promise<void>[] {
    return [...this.#sending.values()].flatMap((each) => [...each])
  }

  async #idle(): Promise<void> {
    for (;;) {
      const busy = [...this.#requests, ...(this.#claiming ? [this.#claiming] : [])]
      if (busy.length === 0) return
      await Promise.race(busy)
    }
  }

  /** Claims repeatedly while there may be more notices and a webhook has a free slot. */
  #claim(): Promise<void> {
    this.#isAsked = true
    this.#claiming ??= Promise.resolve().then(() => this.#claimAll())
    return this.#claiming
  }

  async #claimAll(): Promise<void> {
    let isAway = false
    while (this.#isAsked && this.#mayClaim && !isAway) {
      this.#isAsked = false
      await this.#claimOnce().catch((error: unknown) => {
        this.#options.onError(error, { during: 'notify' })
        this.#nextAt = this.#options.clock.now() + storeAwayMs
        isAway = true
      })
    }
    if (isAway) this.#isAsked = true
    // In the same step as the end of the loop, so that no request to claim is lost.
    this.#claiming = undefined
    this.#lookAhead()
  }

  async #claimOnce(): Promise<void> {
    await this.#probe()
    const rooms = [...this.#sending].map(([hook, { size }]) => ({
      hook,
      room: (hook === sessionHook ? mostOfSessions : mostPerWebhook) - size,
    }))
    const open = rooms.filter(({ room }) => room > 0)
    if (open.length === 0) return
    const max = Math.min(...open.map(({ room }) => room))
    const request = { max, leaseMs, hooks: open.map(({ hook }) => hook), except: this.#failing.paused }
    const { notices, nextAt } = await this.#options.store.claimNotices(request)
    for (const notice of notices) this.#begin(notice)
    if (notices.length === max) this.#isAsked = true
    this.#nextAt = Math.min(nextAt ?? Infinity, this.#failing.nextProbeAt)
  }

  /** Sends one notice to each paused receiver whose pause is over. */
  async #probe(): Promise<void> {
    for (const { receiver, hook } of this.#failing.takeDue()) {
      const {
        notices: [notice],
        nextAt,
      } = await this.#options.store.claimNotices({ max: 1, leaseMs, hooks: [hook], receiver })
      if (notice) this.#begin(notice, receiver)
      else this.#failing.probeAt(receiver, nextAt)
    }
  }

  /** `probed`: the paused receiver that the notice probes. */
  #begin(notice: NoticeRecord, probed?: string): void {
    const sending = this.#sending.get(notice.hook)
    if (probed !== undefined) this.#failing.setProbing(probed, true)
    const sent = this.#send(notice, probed)
      .catch((error: unknown) => this.#options.onError(error, { during: 'notify', session: notice.session }))
      .finally(() => {
        sending?.delete(sent)
        if (probed !== undefined) this.#failing.setProbing(probed, false)
        // The next notice of this session and webhook may be due, and a slot is free.
        if (this.#mayClaim) void this.#claim()
        else this.#leave()
      })
    sending?.add(sent)
  }

  /** Notes that the notice can be claimed again. */
  #leave(): void {
    this.#isAsked = true
    this.#nextAt = this.#options.clock.now()
  }

  async #send(notice: NoticeRecord, probed: string | undefined): Promise<void> {
    const { store, clock } = this.#options
    const outcome = await this.#attempt(notice, probed)
    // A delivery that is not stored within the lease is repeated.
    await askAgain(() => store.settleNotice(notice, outcome), { clock, over: this.#abort.signal, forMs: leaseMs })
  }

  async #attempt(notice: NoticeRecord, probed: string | undefined): Promise<NoticeOutcome> {
    const { clock, guard, random } = this.#options
    const webhook = await this.#webhookOf(notice)
    if (!webhook) return { state: 'failed', error: 'the session has no webhook' }
    const receiver = probed ?? receiverOf(notice.hook, webhook)
    const endsAt = notice.queuedAt + (webhook.retentionMs ?? defaultRetentionMs)
    const lastError = this.#failing.errorOf(receiver)
    if (lastError !== undefined && endsAt <= clock.now()) {
      // The next notice in line is probed at once.
      this.#failing.probeAt(receiver, clock.now())
      return { state: 'failed', error: lastError }
    }
    // Loaded only if there is a webhook.
    const { postWebhook } = await import('../net/post-webhook.ts')
    const error = this.#abort.signal.aborted
      ? 'the runtime was stopped'
      : await postWebhook(webhook, notice, { clock, guard, abortSignal: this.#abort.signal })
    if (error === undefined) {
      this.#failing.succeeded(receiver)
      return { state: 'delivered' }
    }
    if (this.#abort.signal.aborted) return { state: 'pending', dueInMs: 0 }
    this.#failing.failed(receiver, notice.hook, error)
    const left = endsAt - clock.now()
    return left <= 0
      ? { state: 'failed', error }
      : { state: 'pending', error, dueInMs: Math.min(left, delayAfter(notice.attempts, random, longestDelayMs)) }
  }

  async #webhookOf({ hook, session }: NoticeRecord): Promise<Webhook | undefined> {
    if (hook !== sessionHook) return this.#options.webhooks.get(hook)
    const read = await this.#options.store.readSession(session)
    return 'value' in read ? read.value.settings.notify : undefined
  }

  #lookAhead(): void {
    this.#disarm()
    if (this.#nextAt === Infinity) return
    this.#arm(this.#nextAt)
    // Open requests are followed by another check when they end.
    if (this.#drains === 0 && this.#requests.length === 0) this.#options.tellHost(this.#nextAt)
  }

  #arm(atMs: number): void {
    if (!this.#isOn || atMs >= this.#armedFor) return
    this.#disarm()
    this.#armedFor = atMs
    this.#cancel = this.#options.clock.setTimer(atMs, () => {
      this.#armedFor = Infinity
      this.wake()
    })
  }

  #disarm(): void {
    this.#cancel?.()
    this.#armedFor = Infinity
  }
}
