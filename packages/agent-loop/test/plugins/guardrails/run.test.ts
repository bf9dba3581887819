import { describe, expect, it } from 'vitest'
import { defineAgent, defineTool } from '../../../src/index.ts'
import type { AgentEvent, ModelFunction } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { echo, remote } from '../../support/tools.ts'
import { guardrail } from './support.ts'

const call = (name: string, id = 'x') => ({ toolCalls: [{ id, name, input: {} }] })
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const outcomes = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-execution-end' ? [`${event.toolCallId} ${event.message.status}`] : []))
const failing = defineTool({
  name: 'fail',
  description: '',
  inputSchema: {},
  effect: 'pure',
  execute: () => {
    throw new Error('bad')
  },
})

/** Calls the failing tool three times in each turn, then ends. */
const threeCalls: ModelFunction = async ({ step, turn }) =>
  step > 3
    ? [{ role: 'assistant', content: [{ type: 'text', text: 'ok' }] }]
    : [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: `c${turn}-${step}`, toolName: 'fail', input: {} }] }]

describe('guardrails and the runs of one agent', () => {
  it("A32: concurrent runs do not see each other's counts, of built-in and of given guardrails", async () => {
    const seen: string[] = []
    const counter = guardrail('counter', {
      afterCall(_call, _result, { state, runId }) {
        state['calls'] = Number(state['calls'] ?? 0) + 1
        seen.push(`${runId} ${state['calls'] as number}`)
      },
    })
    const agent = defineAgent({ model: threeCalls, tools: [failing], guardrails: [counter] })
    const talks = ['a', 'b', 'c'].map((name) => ({ name, talk: conversation() }))
    const played = await Promise.all(talks.map(({ name, talk }) => talk.play(agent, 'go', { runId: name })))
    expect(played.map(({ result }) => result.status)).toEqual(['completed', 'completed', 'completed'])
    for (const { name } of talks) expect(seen.filter((entry) => entry.startsWith(name))).toEqual([`${name} 1`, `${name} 2`, `${name} 3`])
    for (const { events } of played) expect(outcomes(events)).toEqual(['c1-1 error', 'c1-2 error', 'c1-3 error'])
  })

  it('A155: a new turn of the same conversation begins to count anew, also a follow-up', async () => {
    const talk = conversation()
    const agent = defineAgent({ model: threeCalls, tools: [failing] })
    for (let turn = 1; turn <= 2; turn++) {
      const run = talk.run(agent, 'go')
      await run.followUp('and again')
      expect((await run.result()).status).toBe('completed')
    }
    expect(outcomes(talk.journal.log)).toHaveLength(12)
    expect(new Set(outcomes(talk.journal.log).map((text) => text.split(' ')[1]))).toEqual(new Set(['error']))
  })
})

describe('guardrails and the segments of a turn', () => {
  it('A152: onTurnStart runs once per turn, and once more, as resumed and with a new state, when the turn goes on', async () => {
    const talk = conversation()
    const seen: unknown[] = []
    const watch = guardrail('watch', {
      onTurnStart({ turn, resumed, state }) {
        seen.push(['start', turn, resumed, { ...state }])
        state['ready'] = true
      },
      beforeCall: ({ toolName }, { state }) => void seen.push([toolName, state['ready']]),
      onTurnEnd: ({ turn, status }) => void seen.push(['end', turn, status]),
    })
    const agent = agentOf([call('there', '1'), call('here', '2'), { text: 'ok' }], {
      tools: [remote('there'), echo('here').tool],
      guardrails: [watch],
    })
    await talk.play(agent, 'go')
    await talk.play(agent, { toolResults: [{ toolCallId: '1', output: 'done' }] })
    expect(seen).toEqual([
      ['start', 1, false, {}],
      ['there', true],
      ['end', 1, 'awaiting-tools'],
      ['start', 1, true, {}],
      ['here', true],
      ['end', 1, 'completed'],
    ])
  })

  it('A152: also for a turn whose input an extension has handled, and for one that is aborted before its first call', async () => {
    const talk = conversation()
    const seen: string[] = []
    const watch = guardrail('watch', {
      onTurnStart: ({ turn }) => void seen.push(`start ${turn}`),
      onTurnEnd: ({ turn, status }) => void seen.push(`end ${turn} ${status}`),
    })
    const bot = { name: 'bot', hooks: { onInput: () => ({ action: 'handled' as const }) } }
    await talk.play(agentOf([], { guardrails: [watch], extensions: [bot] }), 'ping')
    await talk.play(agentOf([], { guardrails: [watch] }), 'go', { abortSignal: AbortSignal.abort() })
    expect(seen).toEqual(['start 1', 'end 1 completed', 'start 2', 'end 2 aborted'])
  })

  it('A151: a guardrail that throws at the start or the end of a turn is reported and does not end it', async () => {
    const talk = conversation()
    const bad = () => {
      throw new Error('bad')
    }
    const { result } = await talk.play(
      agentOf([{ text: 'ok' }], { guardrails: [guardrail('broken', { onTurnStart: bad, onTurnEnd: bad })] }),
      'go',
    )
    expect(result.status).toBe('completed')
    expect(errorsOf(talk.journal.log)).toMatchObject([
      { source: 'guardrail', name: 'broken', hook: 'onTurnStart', message: 'bad', fatal: false },
      { source: 'guardrail', name: 'broken', hook: 'onTurnEnd', message: 'bad', fatal: false },
    ])
  })

  it('A151: a warning of a call that is cancelled afterwards is not lost', async () => {
    const talk = conversation()
    const warn = guardrail('warn', {
      beforeCall: ({ toolCallId }) => (toolCallId === '1' ? { action: 'warn', reason: 'careful' } : { action: 'halt', reason: 'enough' }),
    })
    const agent = agentOf(
      [
        {
          toolCalls: [
            { id: '1', name: 'a', input: {} },
            { id: '2', name: 'a', input: {} },
          ],
        },
      ],
      { tools: [echo('a').tool], guardrails: [warn] },
    )
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('halted')
    expect(JSON.stringify(result.messages)).toContain('Warning: careful')
  })
})
