import type { Clock } from '@bowline/llm'

/** A value, or a promise of it. A value that is ready comes without a promise, which costs time even when it is settled. */
export type MaybePromise<Value> = Value | Promise<Value>

/** The way in which a wait for the user's code ended. */
export type Settled<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'out-of-time' }
  /** The run was stopped meanwhile, or has no time left. */
  | { readonly kind: 'stopped' }

export interface TimeLimit {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Signal of the run. Aborting it ends a wait that began before, unless the wait is `patient`. */
  readonly abortSignal: AbortSignal
  /** Latest end of a run that is being stopped, epoch ms; undefined otherwise. Limits the waits that begin after the abort. */
  readonly stopDeadline?: (() => number | undefined) | undefined
  /** True: after an abort, the wait continues until `stopDeadline`, because its result must not be lost. */
  readonly patient?: boolean | undefined
}

/**
 * Waits for code that may throw, reject or hang. Must not reject, and must remove its timer and its listener. A result that comes
 * after the wait has ended is dropped.
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

/** Returns the value that the code gave in time. Throws the error of the code, or an error if there was no answer in time. */
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

/** Handles the rejection of a promise whose value is not needed any more. */
export function dropLateFailure(promise: PromiseLike<unknown>): void {
  Promise.resolve(promise).catch(() => undefined)
}

/**
 * Settles as the work does. Rejects with the signal's reason if the signal is aborted first, even if the work ignores the signal.
 */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

declare const setImmediate: ((run: () => void) => unknown) | undefined

/** Longest time in ms for which runs may keep the thread without a macrotask. */
const longestMs = 10

/** Time of the last macrotask that runs waited for, by the clock that they share. */
const breaths = new WeakMap<Clock, number>()

/**
 * Lets timers and sockets run: a model and tools that answer at once must not starve them, and neither must many short runs in a
 * row. Returns undefined if a run of the same clock has waited for a macrotask less than `longestMs` ago and `due` is false.
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

/** Runs a function in the next macrotask. For browsers, whose timers may wait for milliseconds. */
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
