import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { StopSwitch } from '../../src/kernel/stop-switch.ts'

const listenersOf = ({ signal }: AbortController): number => getEventListeners(signal, 'abort').length

describe('the stop switch', () => {
  it('the first cause wins', () => {
    const stop = new StopSwitch(() => 0)
    stop.stop({ kind: 'stop', status: 'limit', reason: 'max-duration', message: 'time is up' })
    stop.stop({ kind: 'stop', reason: 'later' })
    stop.stop({ kind: 'yield' })
    expect([stop.stopped, stop.leaving]).toEqual([true, false])
    expect(stop.ending).toEqual({ status: 'limit', reason: 'max-duration' })
    expect(stop.signal.reason).toMatchObject({ name: 'AbortError', message: 'time is up' })
  })

  it('A169: fenced wins over any earlier cause', () => {
    const stop = new StopSwitch(() => 0)
    stop.stop({ kind: 'stop' })
    stop.stop({ kind: 'fenced' })
    expect([stop.stopped, stop.leaving, stop.cause?.kind]).toEqual([false, true, 'fenced'])
  })

  it('tells how the turn ends: as its cause says, else aborted', () => {
    const plain = new StopSwitch(() => 0)
    plain.stop({ kind: 'stop', reason: 'enough' })
    expect(plain.ending).toEqual({ status: 'aborted', reason: 'abort' })
    expect(plain.signal.reason).toMatchObject({ message: 'enough' })
    const failed = new StopSwitch(() => 0)
    const error = { code: 'policy-error', message: 'no' } as const
    failed.stop({ kind: 'stop', status: 'error', reason: 'policy-error', error })
    expect(failed.ending).toEqual({ status: 'error', reason: 'policy-error', error })
  })

  it('takes the cause of the stop from the signals that it follows', () => {
    const causes = [{ kind: 'yield', reason: 'drain' }, { kind: 'fenced' }, 'words', new Error('a message'), undefined, 7].map((reason) => {
      const stop = new StopSwitch(() => 0)
      const controller = new AbortController()
      stop.follow(controller.signal)
      controller.abort(reason)
      return stop.cause
    })
    expect(causes).toEqual([
      ...[{ kind: 'yield', reason: 'drain' }, { kind: 'fenced' }, { kind: 'stop', reason: 'words' }],
      ...[{ kind: 'stop', reason: 'a message' }, { kind: 'stop', reason: 'This operation was aborted' }, { kind: 'stop' }],
    ])
  })

  it('A104: follows a signal that was already aborted', () => {
    const stop = new StopSwitch(() => 0)
    stop.follow(AbortSignal.abort('before'))
    expect(stop.cause).toEqual({ kind: 'stop', reason: 'before' })
  })

  it('A112: follows each signal once, and removes all its listeners', () => {
    const stop = new StopSwitch(() => 0)
    const [one, two] = [new AbortController(), new AbortController()]
    for (const { signal } of [one, one, two]) stop.follow(signal)
    stop.follow(undefined)
    expect([one, two].map(listenersOf)).toEqual([1, 1])
    stop.release()
    expect([one, two].map(listenersOf)).toEqual([0, 0])
    one.abort()
    expect(stop.cause).toBeUndefined()
  })
})
