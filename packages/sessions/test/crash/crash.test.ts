import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { checkEvents, checkTranscript } from '@bowline/agent-loop/testing'
import { describe, expect, it } from 'vitest'
import { types } from '../support.ts'
import { ProcessDied, type Fault, type FaultPoint } from './dying-store.ts'
import { runScenario, type Outcome } from './scenario.ts'

const undisturbed = await runScenario()

/** Every write of the undisturbed scenario, with what happens there. */
function pointsOf(...faults: Fault[]): (FaultPoint & { readonly name: string })[] {
  return undisturbed.writes.flatMap(({ name, isClaim }, index) =>
    faults.filter((fault) => !isClaim || fault.startsWith('dies-after')).map((fault) => ({ write: index + 1, fault, name })),
  )
}

/** The transcript without what may differ: ids, times, and how the scripted model counts its answers. */
function contentOf({ transcript }: Outcome): unknown {
  return transcript.map(({ id: _id, at: _at, ...message }) => {
    return message.role === 'assistant' ? { ...message, response: undefined } : message
  })
}

function countOf(outcome: Outcome, type: string): number {
  return types(outcome.log).filter((each) => each === type).length
}

const fold = (events: Outcome['log']) => events.reduce(reduceEvents, emptyView)

function checkInvariants(outcome: Outcome): void {
  const { log, read, transcript, effects } = outcome
  expect(contentOf(outcome)).toEqual(contentOf(undisturbed))
  expect(checkTranscript(transcript)).toEqual([])
  expect(log.map((event) => ('seq' in event ? event.seq : undefined))).toEqual(log.map((_, index) => index + 1))
  expect(checkEvents(log)).toEqual([])
  expect(fold(read)).toEqual(fold(log))
  expect(outcome.runs).toEqual(['completed'])
  expect(outcome.sessionStatus).toBe('idle')
  expect(countOf(outcome, 'settled')).toBe(1)
  for (const type of ['run-queued', 'user-message']) expect(countOf(outcome, type)).toBe(1)
  expect(effects.pay?.length ?? 0).toBeLessThanOrEqual(1)
  expect(effects.index?.length).toBeGreaterThanOrEqual(1)
  expect(new Set(effects.index).size).toBe(1)
  expect(outcome.askedAgain).toEqual([])
}

describe('a scenario with a fault at each of its writes', () => {
  it('S83, S84: without a fault it has three steps, one of them answered from outside', () => {
    expect(undisturbed.transcript.map((message) => message.role)).toEqual([
      ...['user', 'assistant', 'tool-result', 'tool-result', 'assistant', 'tool-result', 'assistant'],
    ])
    expect(undisturbed.writes.length).toBeGreaterThan(7)
    expect(undisturbed.faults).toEqual([])
    checkInvariants(undisturbed)
  })

  it.each(pointsOf('dies-before', 'dies-after'))(
    'S34, S60, S75, S78, S83, S84, S115, S124: $fault write $write ($name), and another process goes on',
    async (point) => {
      const outcome = await runScenario(point)
      expect(outcome.processes).toBe(2)
      checkInvariants(outcome)
      expect(outcome.faults.filter((fault) => !(fault instanceof ProcessDied))).toEqual([])
    },
  )

  it.each(pointsOf('fails-before', 'fails-after'))(
    'S35: $fault write $write ($name), and the same process gives the same batch again',
    async (point) => {
      const outcome = await runScenario(point)
      expect(outcome.processes).toBe(1)
      checkInvariants(outcome)
      expect(outcome.faults).toEqual([])
      expect(outcome.effects.pay).toHaveLength(1)
    },
  )
})
