import { manualClock } from '@bowline/llm/testing'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { isThenable, settleWithin, untilAborted } from '../../src/base/promises.ts'
import type { TimeLimit } from '../../src/base/promises.ts'

function limited(options: Partial<TimeLimit> = {}) {
  const clock = manualClock(1000)
  const stop = new AbortController()
  const limit: TimeLimit = { clock, timeoutMs: 100, abortSignal: stop.signal, ...options }
  const left = (): readonly number[] => [clock.pendingTimers, getEventListeners(stop.signal, 'abort').length]
  return { clock, stop, limit, left }
}

const never = new Promise<never>(() => undefined)

describe('A143: waiting for code of plug-ins', () => {
  it('A143: a value that is there at once costs no timer, and code that throws has failed', async () => {
    const { limit, left } = limited()
    expect(await settleWithin(limit, () => 5)).toEqual({ kind: 'value', value: 5 })
    const error = new Error('no')
    expect(
      await settleWithin(limit, () => {
        throw error
      }),
    ).toEqual({ kind: 'failed', error })
    expect(left()).toEqual([0, 0])
  })

  it('A143: waits for a promise, and leaves no timer and no listener', async () => {
    const { limit, left } = limited()
    const gate = Promise.withResolvers<string>()
    const settled = settleWithin(limit, () => gate.promise)
    expect(left()).toEqual([1, 1])
    gate.resolve('late')
    expect(await settled).toEqual({ kind: 'value', value: 'late' })
    expect(left()).toEqual([0, 0])
    const error = new Error('no')
    expect(await settleWithin(limit, () => Promise.reject(error))).toEqual({ kind: 'failed', error })
    expect(left()).toEqual([0, 0])
  })

  it('A143: a wait ends at its timeout, not before', async () => {
    const { clock, limit, left } = limited()
    let ended = false
    const settled = settleWithin(limit, () => never).finally(() => (ended = true))
    await clock.advance(99)
    expect(ended).toBe(false)
    await clock.advance(1)
    expect(await settled).toEqual({ kind: 'out-of-time' })
    expect(left()).toEqual([0, 0])
  })

  it('A143: an abort ends a wait, unless it is patient: then the deadline of the stop ends it', async () => {
    const { stop, limit, left } = limited()
    const settled = settleWithin(limit, () => never)
    stop.abort()
    expect(await settled).toEqual({ kind: 'stopped' })
    expect(left()).toEqual([0, 0])

    const patient = limited({ patient: true, stopDeadline: () => 1050 })
    let ended = false
    const waited = settleWithin(patient.limit, () => never).finally(() => (ended = true))
    patient.stop.abort()
    await patient.clock.advance(49)
    expect(ended).toBe(false)
    await patient.clock.advance(1)
    expect(await waited).toEqual({ kind: 'stopped' })
    expect(patient.left()).toEqual([0, 0])
  })

  it('A143: a patient wait without a deadline, and an impatient one with a deadline, end at the abort', async () => {
    for (const options of [{ patient: true }, { patient: true, stopDeadline: () => undefined }, { stopDeadline: () => 1050 }]) {
      const { stop, limit } = limited(options)
      const settled = settleWithin(limit, () => never)
      stop.abort()
      expect(await settled).toEqual({ kind: 'stopped' })
    }
  })

  it('A143: a patient wait still ends when its value comes, and at its own timeout', async () => {
    const gate = Promise.withResolvers<number>()
    const one = limited({ patient: true, stopDeadline: () => 1050 })
    const settled = settleWithin(one.limit, () => gate.promise)
    one.stop.abort()
    gate.resolve(7)
    expect(await settled).toEqual({ kind: 'value', value: 7 })
    expect(one.left()).toEqual([0, 0])
    const two = limited({ patient: true, stopDeadline: () => 5000 })
    const late = settleWithin(two.limit, () => never)
    two.stop.abort()
    await two.clock.advance(100)
    expect(await late).toEqual({ kind: 'out-of-time' })
    expect(two.left()).toEqual([0, 0])
  })

  it('A143: after an abort a wait has its own timeout, or the time left until the deadline of the stop', async () => {
    const { clock, stop, limit } = limited()
    stop.abort()
    expect(await settleWithin(limit, () => Promise.resolve(1))).toEqual({ kind: 'value', value: 1 })
    expect(clock.pendingTimers).toBe(0)
    const settled = settleWithin(limit, () => never)
    await clock.advance(100)
    expect(await settled).toEqual({ kind: 'out-of-time' })
    const short = limited({ stopDeadline: () => 1020 })
    short.stop.abort()
    let ended = false
    const stopped = settleWithin(short.limit, () => never).finally(() => (ended = true))
    await short.clock.advance(19)
    expect(ended).toBe(false)
    await short.clock.advance(1)
    expect(await stopped).toEqual({ kind: 'stopped' })
    const same = limited({ stopDeadline: () => 1100 })
    same.stop.abort()
    const both = settleWithin(same.limit, () => never)
    await same.clock.advance(100)
    expect(await both).toEqual({ kind: 'out-of-time' })
  })

  it('A143: code that stops the run itself is not waited for, and its late failure is no unhandled rejection', async () => {
    const { clock, stop, limit } = limited()
    const settled = await settleWithin(limit, () => {
      stop.abort()
      return Promise.reject(new Error('late'))
    })
    expect(settled).toEqual({ kind: 'stopped' })
    expect(clock.pendingTimers).toBe(0)
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('A143: waits only for values that have a then method', () => {
    const then = (): void => undefined
    expect([{ then }, Object.assign(() => 1, { then }), Promise.resolve()].map((each) => isThenable(each as object))).toEqual([
      true,
      true,
      true,
    ])
    expect([null, undefined, 5, 'then', {}, { then: 5 }, () => 1].map((each) => isThenable(each as object))).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
      false,
    ])
  })

  it('untilAborted: settles with whichever comes first, value or abort, and leaves no listener', async () => {
    const stop = new AbortController()
    expect(await untilAborted(Promise.resolve(3), stop.signal)).toBe(3)
    await expect(untilAborted(Promise.reject(new Error('no')), stop.signal)).rejects.toThrow('no')
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    const waiting = untilAborted(never, stop.signal)
    stop.abort(new Error('left'))
    await expect(waiting).rejects.toThrow('left')
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    await expect(untilAborted(never, stop.signal)).rejects.toThrow('left')
  })
})
