import type { Clock } from '@bowline/llm'

/** A value that may be there at once: a promise costs time even when it is settled. */
export type MaybePromise<Value> = Value | Promise<Value>

/** How the wait for code of the user ended. */
export type Settled<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'out-of-time' }
  /** The run was stopped meanwhile, or has no time left. */
  | { readonly kind: 'stopped' }

export interface TimeLimit {
  readonly clock: Clock
  readonly timeoutMs: number
  /** The run's. Aborting it ends a wait that has begun before, unless that is `patient`. */
  readonly abortSignal: AbortSignal
  /** Latest end of a run that is being stopped, epoch ms; undefined otherwise. Bounds the waits that begin after the abort. */
  readonly stopDeadline?: (() => number | undefined) | undefined
  /** An abort leaves a wait that has begun the time until `stopDeadline`: what it waits for must not be lost. */
  readonly patient?: boolean | undefined
}

/**
 * Waits for code that may throw, reject or hang. It must not reject, and must leave neither a timer nor a listener
 * behind; what the code says after the wait has ended is dropped.
 */
export function settleWithin<Value>(limit: TimeLimit, work: () => Value | PromiseLike<Value>): Promise<Settled<Value>> {
  const { abortSignal } = limit
  const behindAbort = abortSignal.aborted
  try {
    const returned = work()
    if (!isThenable(returned)) return Promise.resolve({ kind: 'value', value: returned })
    if (abortSignal.aborted && !behindAbort) {
      dropLateFailure(returned)
      return Promise.resolve({ kind: 'stopped' })
    }
    return behindAbort ? settleBehindAbort(limit, returned) : settleUnlessAborted(limit, returned)
  } catch (error) {
    return Promise.resolve({ kind: 'failed', error })
  }
}

/** Returns what the code gave in time. Throws what it threw, or that it gave no answer. */
export function valueInTime<Value>(settled: Exclude<Settled<Value>, { kind: 'stopped' }>, timeoutMs: number): Value {
  if (settled.kind === 'value') return settled.value
  throw settled.kind === 'failed' ? settled.error : new Error(`no answer within ${timeoutMs} ms`)
}

export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return 'then' in value && typeof value.then === 'function'
}

function settleUnlessAborted<Value>(limit: TimeLimit, promise: PromiseLike<Value>): Promise<Settled<Value>> {
  const { clock, timeoutMs, abortSignal, stopDeadline, patient = false } = limit
  return new Promise((resolve) => {
    const timers = [clock.setTimer(clock.now() + timeoutMs, () => end({ kind: 'out-of-time' }))]
    const onAbort = (): void => {
      const lastEnd = patient ? stopDeadline?.() : undefined
      if (lastEnd === undefined) return end({ kind: 'stopped' })
      timers.push(clock.setTimer(lastEnd, () => end({ kind: 'stopped' })))
    }
    const end = (settled: Settled<Value>): void => {
      for (const cancel of timers) cancel()
      abortSignal.removeEventListener('abort', onAbort)
      resolve(settled)
    }
    abortSignal.addEventListener('abort', onAbort)
    follow(promise, end)
  })
}

function settleBehindAbort<Value>(limit: TimeLimit, promise: PromiseLike<Value>): Promise<Settled<Value>> {
  const { clock, timeoutMs, stopDeadline } = limit
  const ownEnd = clock.now() + timeoutMs
  const lastEnd = stopDeadline?.() ?? Infinity
  return new Promise((resolve) => {
    const kind = lastEnd < ownEnd ? 'stopped' : 'out-of-time'
    const cancel = clock.setTimer(Math.min(ownEnd, lastEnd), () => resolve({ kind }))
    follow(promise, (settled) => {
      cancel()
      resolve(settled)
    })
  })
}

function follow<Value>(promise: PromiseLike<Value>, end: (settled: Settled<Value>) => void): void {
  Promise.resolve(promise).then(
    (value) => end({ kind: 'value', value }),
    (error: unknown) => end({ kind: 'failed', error }),
  )
}

/** Handles its rejection: its value is not needed any more. */
export function dropLateFailure(promise: PromiseLike<unknown>): void {
  Promise.resolve(promise).catch(() => undefined)
}

/** Rejects with the signal's reason when it is aborted first, also when the work ignores the signal. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

declare const setImmediate: ((run: () => void) => unknown) | undefined

/** How long runs may go on without a macrotask, in ms. */
const longestMs = 10

/** When runs have let go of the thread, by the clock that they share. */
const breaths = new WeakMap<Clock, number>()

/**
 * Lets timers and sockets have their turn: a model and tools that answer at once must not starve them, nor must many short
 * runs one after the other. Undefined as long as a run of the same clock has let go of the thread a short while ago, unless
 * it is `due` all the same.
 */
export function breathe(clock: Clock, due: boolean): Promise<void> | undefined {
  const before = breaths.get(clock)
  if (before !== undefined && !due && clock.now() - before < longestMs) return undefined
  return nextMacrotask().then(() => void breaths.set(clock, clock.now()))
}

function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else postMessageTo(resolve)
  })
}

/** For browsers, whose timers may wait for milliseconds. */
function postMessageTo(run: () => void): void {
  const { port1, port2 } = new MessageChannel()
  const onMessage = (): void => {
    port1.close()
    run()
  }
  port1.addEventListener('message', onMessage, { once: true })
  port1.start()
  port2.postMessage(undefined)
}
