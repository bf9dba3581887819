import { beforeEach, describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/index.ts'
import { checkEvents } from '@bowline/testing'
import { agentOf, conversation } from '../support/conversation.ts'
import { echo, remote } from '../support/tools.ts'

let log: readonly AgentEvent[] = []

beforeEach(async () => {
  const talk = conversation()
  const calls = [
    { id: 'x', name: 'a', input: {} },
    { id: 'r', name: 'far', input: {} },
  ]
  const agent = agentOf([{ text: 'one', toolCalls: calls }, { text: 'two' }], { tools: [echo('a').tool, remote('far')] })
  await talk.play(agent, 'go')
  await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: 1 }] })
  log = talk.journal.log
})

/** Returns the log with new numbers, so that only the planted fault is wrong. */
function renumbered(events: readonly AgentEvent[]): readonly AgentEvent[] {
  let seq = 0
  return events.map((event) => (event.seq === undefined ? event : { ...event, seq: ++seq }))
}

const without = (type: string) => renumbered(log.filter((event) => event.type !== type))
const at = (type: string) => log.findIndex((event) => event.type === type)
const changed = (type: string, change: object) => log.map((event) => (event.type === type ? { ...event, ...change } : event))
const repeated = (type: string) => renumbered(log.toSpliced(at(type), 0, ...log.slice(at(type), at(type) + 1)))

describe('checkEvents', () => {
  it('A35: finds no mistake in a valid log', () => {
    expect(log.length).toBeGreaterThan(20)
    expect(checkEvents(log, { allDeltas: true })).toEqual([])
    expect(checkEvents(log.filter((event) => event.seq !== undefined))).toEqual([])
  })

  it.each([
    ...['user-message', 'turn-start', 'step-start', 'message-start', 'message-end', 'step-end', 'tool-execution-start'],
    ...['tool-execution-end', 'awaiting-tools', 'turn-end', 'save-point', 'text-start', 'tool-call-start', 'tool-call-end'],
  ])('A35: reports a log without %s', (type) => {
    expect(checkEvents(without(type), { allDeltas: true })).not.toEqual([])
  })

  it.each([
    'user-message',
    'step-start',
    'message-start',
    'message-end',
    'tool-execution-start',
    'tool-execution-end',
    'step-end',
    'turn-end',
    'save-point',
    'settled',
    'text-start',
    'text-end',
  ])('A35: reports %s twice', (type) => {
    expect(checkEvents(repeated(type), { allDeltas: true })).not.toEqual([])
  })

  it.each<[string, () => readonly AgentEvent[]]>([
    [
      'a gap in seq',
      () => log.filter((event) => event.type !== 'settled').map((event) => (event.type === 'save-point' ? { ...event, seq: 99 } : event)),
    ],
    [
      'a durable event without seq',
      () =>
        log.map((event) => {
          if (event.type !== 'settled') return event
          const { seq: _seq, ...rest } = event
          return rest
        }),
    ],
    ['a delta with seq', () => changed('text-delta', { seq: 3 })],
    ['a foreign run', () => changed('message-start', { runId: 'other' })],
    ['a wrong usage', () => changed('turn-end', { usage: { inputTokens: 1 } })],
    ['a wrong count of steps', () => changed('turn-end', { steps: 7 })],
    ['a wrong count of calls', () => changed('step-end', { toolCalls: 7 })],
    ['a wrong step', () => changed('step-start', { step: 5 })],
    ['a wrong attempt', () => changed('tool-execution-start', { attempt: 2 })],
    ['a delta of another message', () => changed('text-delta', { messageId: 'other' })],
    ['a block out of place', () => changed('text-start', { index: 4 })],
    ['an unknown type', () => changed('settled', { type: 'finished' })],
    ['a log that stops', () => log.slice(0, -3)],
    ['settled while waiting', () => renumbered(log.toSpliced(at('save-point') + 1, 0, ...log.slice(-1)))],
  ])('A35: finds %s', (_what, make) => {
    expect(checkEvents(make(), { allDeltas: true })).not.toEqual([])
  })

  it('accepts a log that stops anywhere, with the option for it', () => {
    for (let length = 0; length < log.length; length++)
      expect(checkEvents(log.slice(0, length), { unfinished: true, allDeltas: true })).toEqual([])
  })
})
