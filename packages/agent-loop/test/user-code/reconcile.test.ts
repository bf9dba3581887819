import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal, defineAgent, defineTool } from '../../src/index.ts'
import type { Agent, Journal, OnUnknownOutcome } from '../../src/index.ts'
import { checkEvents, fakeIds, recordingJournal } from '@bowline/testing'
import { watchedClock } from '../fuzz/watched-clock.ts'
import { badKinds, misbehave } from './bad-values.ts'
import { settle } from './play-plug-in.ts'

interface Played {
  readonly end: string
  readonly outcomes: readonly string[]
  readonly ran: number
  readonly asked: number
  readonly waitedMs: number
  readonly problems: readonly string[]
}

/** Plays a process that dies while a `once` tool runs, and a next process that asks `reconcile`. */
async function playRecovery(bad: () => unknown, onUnknownOutcome: OnUnknownOutcome): Promise<Played> {
  const clock = watchedClock(1_000)
  const recording = recordingJournal(createMemoryJournal())
  const options = { clock: clock.tested, ids: fakeIds() }
  let [isDead, ran, asked] = [false, 0, 0]
  const journal: Journal = {
    ...recording,
    commit: (records, expect) => (isDead ? Promise.reject(new Error('the process died')) : recording.commit(records, expect)),
  }
  const pay = defineTool({
    name: 'pay',
    description: 'pays',
    inputSchema: {},
    timeoutMs: 9_000,
    execute: () => {
      ran++
      isDead = true
      return 'paid'
    },
    reconcile: () => (asked++, bad()) as never,
  })
  const agent = (): Agent =>
    defineAgent({
      tools: [pay],
      onUnknownOutcome,
      model: scriptedModel(({ prompt }) =>
        prompt.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ id: 'p', name: 'pay', input: {} }] },
      ),
    })
  await agent()
    .run('go', { journal, ...options })
    .result()
  isDead = false
  const result = agent()
    .run(undefined, { journal, ...options })
    .result()
  expect(await settle(clock, result)).toBe(true)
  const { status, reason } = await result
  const outcomes = recording.events.flatMap((event) => (event.type === 'tool-execution-end' ? [event.message.status] : []))
  return {
    end: `${status}/${reason}`,
    outcomes,
    ran,
    asked,
    waitedMs: clock.now() - 1_000,
    problems: checkEvents(recording.log, { unfinished: true }),
  }
}

describe('A200: a bad reconcile', () => {
  it.each(badKinds)('leaves the outcome unknown and never runs the call again: %s', async (kind) => {
    const waitedMs = kind === 'never answers' ? 9_000 : 0
    const told = await playRecovery(() => misbehave(kind), 'tell-model')
    expect(told).toEqual({ end: 'completed/stop', outcomes: ['unknown'], ran: 1, asked: 1, waitedMs, problems: [] })
    const stopped = await playRecovery(() => misbehave(kind), 'stop')
    expect(stopped).toEqual({ end: 'needs-recovery/unknown-outcome', outcomes: [], ran: 1, asked: 1, waitedMs, problems: [] })
  })

  it.each([7, null, [7], { unknown: 1 }, undefined])(
    'leaves the outcome unknown if it reports that the call happened with the result %j',
    async (result) => {
      const played = await playRecovery(() => ({ happened: 'perhaps', result }), 'tell-model')
      expect(played).toMatchObject({ outcomes: ['unknown'], ran: 1 })
    },
  )
})
