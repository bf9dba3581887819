import { describe, expect, it } from 'vitest'
import { AdmissionQueue } from '../src/requests/admission-queue.ts'

function queueOf({ maxInFlight = 1, maxQueued = 10, perOwner = Infinity } = {}) {
  return new AdmissionQueue({ maxInFlight, maxQueued, ofOwner: { maxInFlight: () => perOwner, maxQueued: () => maxQueued } })
}

/** Returns whether the request may run by now. */
async function hasEntered(place: { readonly entered: Promise<void> }): Promise<boolean> {
  return Promise.race([place.entered.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))])
}

describe('slots of requests', () => {
  it('B65, B68: the first request runs, the next one waits for it', async () => {
    const queue = queueOf()
    const [first, second] = [queue.reserve('ann'), queue.reserve('ann')]
    expect([first.taken, second.taken, await hasEntered(first), await hasEntered(second)]).toEqual([true, false, true, false])
    expect([queue.inFlight, queue.queued]).toEqual([1, 1])
    first.release()
    expect([second.taken, await hasEntered(second), queue.inFlight, queue.queued]).toEqual([true, true, 1, 0])
  })

  it('B67: a slot is freed once, however often it is released', () => {
    const queue = queueOf({ maxInFlight: 2 })
    const places = [queue.reserve('ann'), queue.reserve('ann')]
    places[0]?.release()
    places[0]?.release()
    expect([queue.inFlight, queue.of('ann')]).toEqual([1, { inFlight: 1, queued: 0 }])
    places[0]?.step(true)
    places[0]?.step(false)
    expect(queue.inFlight).toBe(1)
  })

  it('B67, B68: a waiting request can leave the queue, and does not start afterwards', async () => {
    const queue = queueOf()
    const [first, second, third] = [queue.reserve('ann'), queue.reserve('ann'), queue.reserve('ann')]
    second.release()
    second.release()
    expect([queue.inFlight, queue.queued, second.taken]).toEqual([1, 1, true])
    first.release()
    expect([await hasEntered(second), await hasEntered(third), queue.inFlight, queue.queued]).toEqual([false, true, 1, 0])
  })

  it('B65: a request that waits for input lets another one start, and resumes without being refused', async () => {
    const queue = queueOf()
    const [first, second] = [queue.reserve('ann'), queue.reserve('ann')]
    first.step(true)
    first.step(true)
    expect([await hasEntered(second), queue.inFlight]).toEqual([true, 1])
    first.step(false)
    first.step(false)
    expect(queue.inFlight).toBe(2)
    second.release()
    expect(queue.inFlight).toBe(1)
    first.release()
    expect(queue.inFlight).toBe(0)
  })

  it('B67: a request that is released while it waits for input has no slot to free', () => {
    const queue = queueOf()
    const [first, second] = [queue.reserve('ann'), queue.reserve('ann')]
    first.step(true)
    first.release()
    expect([queue.inFlight, second.taken]).toEqual([1, true])
    first.step(false)
    expect(queue.inFlight).toBe(1)
  })

  it('B68: a pause for input of a queued request changes nothing', async () => {
    const queue = queueOf()
    const [first, second] = [queue.reserve('ann'), queue.reserve('ann')]
    second.step(true)
    second.step(false)
    expect([second.taken, await hasEntered(second), queue.inFlight, queue.queued]).toEqual([false, false, 1, 1])
    first.release()
    expect(second.taken).toBe(true)
  })
})
