import { manualClock } from '@bowline/llm/testing'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { EventLog } from '../../src/run/event-log.ts'
import { Gate, iterate } from '../../src/run/gate.ts'
import { savePoint, textDelta } from '../support/events.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function setUp(options: { driverTimeoutMs?: number } = {}) {
  const [events, clock, stop] = [new EventLog(), manualClock(), new AbortController()]
  const gate = new Gate({ events, clock, signal: stop.signal, ...options })
  const breaks: string[] = []
  let passes = 0
  return {
    events,
    clock,
    stop,
    gate,
    breaks,
    iterator: () => iterate({ events, gate, onBreak: () => breaks.push('left') }),
    /** Reaches a boundary of the run, and counts when the run has passed it. */
    boundary(seq: number): void {
      events.append([savePoint(seq)])
      void gate.passed().then(() => passes++)
    },
    async passes(): Promise<number> {
      await settled()
      return passes
    },
  }
}

describe('the gate of a synchronized run', () => {
  it('A20: opens when the driver asks for the event after the boundary, and not when it gets the boundary', async () => {
    const run = setUp()
    const driver = run.iterator()
    const asked = driver.next()
    run.boundary(1)
    expect((await asked).value).toEqual(savePoint(1))
    expect(await run.passes()).toBe(0)
    void driver.next()
    expect(await run.passes()).toBe(1)
  })

  it('A20: waits for a driver that does not exist yet', async () => {
    const run = setUp()
    run.boundary(1)
    expect(await run.passes()).toBe(0)
    const driver = run.iterator()
    await driver.next()
    expect(await run.passes()).toBe(0)
    void driver.next()
    expect(await run.passes()).toBe(1)
  })

  it('A21: waits at each boundary until the driver has read everything before it', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.boundary(1)
    await driver.next()
    const asked = driver.next()
    run.events.append([savePoint(2)])
    run.events.publish(textDelta('m'))
    run.boundary(3)
    await asked
    await driver.next()
    await driver.next()
    expect(await run.passes()).toBe(1)
    void driver.next()
    expect(await run.passes()).toBe(2)
  })

  it('A21: deltas after a boundary change nothing', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.boundary(1)
    run.events.publish(textDelta('m'))
    await driver.next()
    await driver.next()
    expect(await run.passes()).toBe(1)
    void driver.next()
    run.boundary(2)
    expect(await run.passes()).toBe(1)
  })

  it('A21: deltas that the driver has read since do not hold a run that comes late to the gate', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.events.append([savePoint(1)])
    run.events.publish(textDelta('m'))
    await driver.next()
    await driver.next()
    void driver.next()
    await run.gate.passed()
  })

  it('A21: a driver that has already asked when the run reaches the gate does not hold it', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.events.append([savePoint(1)])
    await driver.next()
    void driver.next()
    await run.gate.passed()
  })

  it('A21: does not wait for a driver that asks ahead', async () => {
    const run = setUp()
    const driver = run.iterator()
    const asked = [driver.next(), driver.next(), driver.next()]
    run.boundary(1)
    expect(await run.passes()).toBe(1)
    run.boundary(2)
    expect(await run.passes()).toBe(2)
    run.boundary(3)
    await Promise.all(asked)
    expect(await run.passes()).toBe(2)
  })

  it('A22: a second driver throws busy, until the run is live', () => {
    const run = setUp()
    const driver = run.iterator()
    expect(() => run.iterator()).toThrow(expect.objectContaining({ code: 'busy' }) as Error)
    void driver.return?.()
    expect(() => run.iterator()).not.toThrow()
  })

  it('A23: a driver that leaves frees the run, and is reported once', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.boundary(1)
    await driver.next()
    expect(await driver.return?.()).toEqual({ done: true, value: undefined })
    await driver.return?.()
    expect(await run.passes()).toBe(1)
    run.boundary(2)
    expect(await run.passes()).toBe(2)
    expect(run.breaks).toEqual(['left'])
    expect(await driver.next()).toEqual({ done: true, value: undefined })
  })

  it('A23: a driver that has read the end has not left early', async () => {
    const run = setUp()
    const driver = run.iterator()
    run.events.close()
    await driver.next()
    await driver.return?.()
    expect(run.breaks).toEqual([])
  })

  it('A24: without a driver the run becomes live', async () => {
    const run = setUp()
    run.boundary(1)
    run.gate.openUnlessDriven()
    expect(await run.passes()).toBe(1)
    expect(run.gate.isOpen).toBe(true)
  })

  it('A24: a driven run keeps waiting for its driver', async () => {
    const run = setUp()
    run.iterator()
    run.boundary(1)
    run.gate.openUnlessDriven()
    expect(await run.passes()).toBe(0)
  })

  it('A25: an abort opens it permanently, also an earlier abort', async () => {
    const run = setUp()
    run.boundary(1)
    run.stop.abort()
    expect(await run.passes()).toBe(1)
    run.boundary(2)
    expect(await run.passes()).toBe(2)
    const { events, clock } = run
    expect(new Gate({ events, clock, signal: AbortSignal.abort() }).isOpen).toBe(true)
  })

  it('goes live if the driver takes longer than its limit', async () => {
    const run = setUp({ driverTimeoutMs: 100 })
    const driver = run.iterator()
    run.boundary(1)
    await driver.next()
    await run.clock.advance(99)
    expect(await run.passes()).toBe(0)
    await run.clock.advance(1)
    expect(await run.passes()).toBe(1)
    expect(run.gate.isOpen).toBe(true)
  })

  it('A112: leaves no timer and no listener', async () => {
    const run = setUp({ driverTimeoutMs: 100 })
    const listeners = (): number => getEventListeners(run.stop.signal, 'abort').length
    expect(listeners()).toBe(1)
    const driver = run.iterator()
    run.boundary(1)
    await driver.next()
    expect(run.clock.pendingTimers).toBe(1)
    void driver.next()
    await run.passes()
    expect(run.clock.pendingTimers).toBe(0)
    run.boundary(2)
    run.gate.open()
    await run.passes()
    expect(run.clock.pendingTimers).toBe(0)
    expect(listeners()).toBe(0)
  })
})
