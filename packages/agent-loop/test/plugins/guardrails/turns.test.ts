import { describe, expect, it } from 'vitest'
import { defineTool } from '../../../src/index.ts'
import type { AgentEvent, Guardrail } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, remote, until } from '../../support/tools.ts'
import { guardrail } from './support.ts'

const calls = (...made: readonly (readonly [id: string, name: string])[]) => ({
  toolCalls: made.map(([id, name]) => ({ id, name, input: {} })),
})
const outcomes = (events: readonly AgentEvent[]) =>
  events
    .flatMap((event) => (event.type === 'tool-execution-end' ? [`${event.toolCallId} ${event.message.status} ${event.executed}`] : []))
    .toSorted()
const blocking = (tool: string, action: 'block' | 'halt' | 'warn', reason: string): Guardrail =>
  guardrail('policy', { beforeCall: ({ toolName }) => (toolName === tool ? { action, reason } : undefined) })

describe('guardrails in a turn', () => {
  it('A153: block denies the call with the reason, and the others run', async () => {
    const talk = conversation()
    const [a, b] = [echo('a'), echo('b')]
    const agent = agentOf([calls(['1', 'a'], ['2', 'b']), { text: 'ok' }], {
      tools: [a.tool, b.tool],
      guardrails: [blocking('a', 'block', 'not a')],
    })
    const { events, result } = await talk.play(agent, 'go')
    expect(outcomes(events)).toEqual(['1 denied no', '2 result here'])
    expect(JSON.stringify(resultsOf(agent.model.calls[1]))).toContain('not a')
    expect(a.calls).toHaveLength(0)
    expect(result.status).toBe('completed')
  })

  it('A153: warn adds the reason to the output', async () => {
    const talk = conversation()
    const agent = agentOf([calls(['1', 'a']), { text: 'ok' }], { tools: [echo('a').tool], guardrails: [blocking('a', 'warn', 'careful')] })
    await talk.play(agent, 'go')
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ output: { type: 'text', value: 'a said\n\nWarning: careful' } }])
  })

  it('A153: warnings from before and after a call are joined, also when another process ends the call', async () => {
    const warns = guardrail('policy', {
      beforeCall: () => ({ action: 'warn', reason: 'before' }),
      afterCall: () => ({ action: 'warn', reason: 'after' }),
    })
    const asked = defineTool({ name: 'asked', description: '', inputSchema: {}, needsApproval: true, execute: () => 'done' })
    const tools = [remote('far'), asked]
    const first = agentOf([calls(['1', 'far'], ['2', 'asked'])], { tools, guardrails: [warns] })
    const talk = conversation()
    const { pendingApprovals } = (await talk.play(first, 'go')).result
    const next = conversation({ snapshot: talk.memory.snapshot() })
    const approvals = pendingApprovals.map(({ approvalId }) => ({ approvalId, decision: 'approve' as const }))
    const second = agentOf([{ text: 'ok' }], { tools, guardrails: [warns] })
    await next.play(second, { toolResults: [{ toolCallId: '1', output: 'there' }], approvals }, { ids: talk.ids })
    const warned = (text: string) => ({ output: { type: 'text', value: `${text}\n\nWarning: before\nWarning: after` } })
    expect(resultsOf(second.model.calls[0])).toMatchObject([warned('there'), warned('done')])
  })

  it('A154: halt before a call cancels calls that have not started and ends the turn as halted', async () => {
    const talk = conversation()
    const a = echo('a')
    const agent = agentOf([calls(['1', 'a'], ['2', 'b'], ['3', 'a'])], {
      tools: [a.tool, echo('b').tool],
      guardrails: [blocking('b', 'halt', 'enough')],
    })
    const { events, result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'halted', reason: 'guardrail' })
    expect(outcomes(events)).toEqual(['1 cancelled no', '2 cancelled no', '3 cancelled no'])
    expect(a.calls).toHaveLength(0)
    expect(result.messages.filter(({ role }) => role === 'tool-result')).toHaveLength(3)
  })

  it('A154: halt after a call aborts running calls, with all outcomes stored', async () => {
    const talk = conversation()
    const slow = gated('slow', { effect: 'pure' })
    const watch = guardrail('watch', { afterCall: ({ toolName }) => (toolName === 'a' ? { action: 'halt', reason: 'enough' } : undefined) })
    const run = talk.run(
      agentOf([calls(['1', 'slow'], ['2', 'a'])], { tools: [slow.tool, echo('a').tool], guardrails: [watch], abortGraceMs: 50 }),
      'go',
    )
    await until(() => talk.clock.pendingTimers > 0 && slow.started.length === 1)
    await until(() => talk.types().includes('tool-execution-start'))
    for (let round = 0; round < 20; round++) await talk.clock.advance(10)
    const result = await run.result()
    expect(result).toMatchObject({ status: 'halted', reason: 'guardrail' })
    expect(outcomes(talk.journal.log)).toEqual(['1 cancelled here', '2 result here'])
  })

  it('A151: a guardrail that throws blocks its calls and does not end the turn', async () => {
    const talk = conversation()
    const broken = guardrail('broken', {
      beforeCall: () => {
        throw new Error('bad')
      },
    })
    const agent = agentOf([calls(['1', 'a']), { text: 'ok' }], { tools: [echo('a').tool], guardrails: [broken] })
    const { events, result } = await talk.play(agent, 'go')
    expect(result.status).toBe('completed')
    expect(outcomes(events)).toEqual(['1 denied no'])
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { source: 'guardrail', name: 'broken', hook: 'beforeCall', message: 'bad', fatal: false },
    ])
  })

  it('A152: onTurnStart runs once per turn, onTurnEnd with the status of the turn', async () => {
    const talk = conversation()
    const seen: string[] = []
    const watch = guardrail('watch', {
      onTurnStart: ({ turn }) => void seen.push(`start ${turn}`),
      onTurnEnd: ({ turn, status }) => void seen.push(`end ${turn} ${status}`),
    })
    const agent = agentOf([calls(['1', 'a']), { text: 'one' }, { text: 'two' }], { tools: [echo('a').tool], guardrails: [watch] })
    await talk.play(agent, 'go')
    await talk.play(agent, 'again')
    expect(seen).toEqual(['start 1', 'end 1 completed', 'start 2', 'end 2 completed'])
  })

  it('A152: the calls of a spawnChild agent are guarded too', async () => {
    const a = echo('a')
    const seen: string[] = []
    const watch = guardrail('watch', {
      onTurnStart: () => void seen.push('start'),
      beforeCall: () => ({ action: 'block', reason: 'not a' }),
    })
    const agent = agentOf([calls(['1', 'a']), { text: 'ok' }], { tools: [a.tool], guardrails: [watch] })
    const result = await agent
      .spawnChild({ tools: ['a'] })
      .run('go')
      .result()
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
    expect(result.messages.filter(({ role }) => role === 'tool-result')).toMatchObject([{ status: 'denied' }])
    expect(seen).toEqual(['start'])
    expect(a.calls).toHaveLength(0)
  })

  it('A155: a model that repeats itself is warned, refused and halted without any guardrail given', async () => {
    const talk = conversation()
    const failing = defineTool({
      name: 'fail',
      description: '',
      inputSchema: {},
      effect: 'pure',
      execute: () => {
        throw new Error('bad')
      },
    })
    const agent = agentOf(
      Array.from({ length: 8 }, (_each, index) => calls([`c${index}`, 'fail'])),
      { tools: [failing] },
    )
    const { events, result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'halted', reason: 'guardrail' })
    expect(outcomes(events)).toEqual([
      ...[0, 1, 2, 3, 4].map((index) => `c${index} error here`),
      'c5 denied no',
      'c6 denied no',
      'c7 denied no',
    ])
    expect(JSON.stringify(resultsOf(agent.model.calls[1]))).not.toContain('Warning')
    expect(JSON.stringify(resultsOf(agent.model.calls[2]))).toContain('Warning: fail has failed 2 times with this very input')
  })

  it("A32: two runs of one agent do not see each other's counts", async () => {
    const failing = defineTool({
      name: 'fail',
      description: '',
      inputSchema: {},
      effect: 'pure',
      execute: () => {
        throw new Error('bad')
      },
    })
    const turn = () => Array.from({ length: 3 }, (_each, index) => calls([`c${index}`, 'fail']))
    const talks = [conversation(), conversation()]
    const agents = talks.map(() => agentOf([...turn(), { text: 'ok' }], { tools: [failing] }))
    const played = await Promise.all(talks.map((talk, index) => talk.play(agents[index] as (typeof agents)[number], 'go')))
    expect(played.map(({ result }) => result.status)).toEqual(['completed', 'completed'])
    for (const { events } of played) expect(outcomes(events)).toEqual(['c0 error here', 'c1 error here', 'c2 error here'])
  })

  it('A156: the agent lists the guardrails that lost', async () => {
    const agent = agentOf([], { guardrails: [guardrail('same'), guardrail('same')] })
    await agent.reload()
    expect(agent.diagnostics).toMatchObject([{ kind: 'guardrail', name: 'same' }])
  })
})
