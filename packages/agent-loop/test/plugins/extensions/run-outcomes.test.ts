import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { defineTool } from '../../../src/index.ts'
import type { AgentEvent } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, remote, until } from '../../support/tools.ts'
import { guardrail } from '../guardrails/support.ts'
import { extension, never } from './support.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const calls = (...made: readonly (readonly [id: string, name: string])[]) => ({
  toolCalls: made.map(([id, name]) => ({ id, name, input: {} })),
})
const ends = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === 'tool-execution-end' ? [event.message] : []))

/** Creates a hook and a guardrail that note every outcome. */
function watching() {
  const seen: string[] = []
  const watch = extension('watch', { onToolResult: ({ call: { toolCallId }, status }) => void seen.push(`hook ${toolCallId} ${status}`) })
  const guard = guardrail('guard', {
    afterCall: ({ toolCallId }, { status, executed }) => void seen.push(`guard ${toolCallId} ${status} ${executed}`),
  })
  return { seen, observers: { extensions: [watch], guardrails: [guard] } }
}

describe('every outcome passes hooks and guardrails', () => {
  it('A149: also outcomes of calls that a stop has cancelled or left unknown', async () => {
    const talk = conversation()
    const { seen, observers } = watching()
    const [pure, once] = [gated('pure', { effect: 'pure' }), gated('once')]
    const agent = agentOf([calls(['1', 'pure'], ['2', 'once'], ['3', 'there'])], {
      tools: [pure.tool, once.tool, remote('there')],
      abortGraceMs: 100,
      ...observers,
    })
    const run = talk.run(agent, 'go')
    await until(() => once.started.length === 1)
    run.abort()
    await talk.clock.advance(100)
    expect((await run.result()).status).toBe('aborted')
    expect(seen.toSorted()).toEqual([
      'guard 1 cancelled true',
      'guard 2 unknown true',
      'guard 3 cancelled false',
      'hook 1 cancelled',
      'hook 2 unknown',
      'hook 3 cancelled',
    ])
  })

  it('A149: also outcomes of a failed answer, and no hook can turn them into a result (I6)', async () => {
    const talk = conversation()
    const wish = extension('wish', { onToolResult: () => ({ status: 'result', output: 'fine' }) })
    const broken = { ...call('echo'), failAfter: { parts: 1, error: new Error('gone'), as: 'part' as const } }
    const { result } = await talk.play(agentOf([broken], { tools: [echo('echo').tool], extensions: [wish] }), 'go')
    expect(result.status).toBe('error')
    const errors = talk.journal.log.filter(({ type }) => type === 'error')
    expect(ends(talk.journal.log).map(({ status }) => status)).toEqual(errors.map(() => 'cancelled'))
    expect(errors).toMatchObject([{ name: 'wish', hook: 'onToolResult' }])
  })

  it('A149: also outcomes of a turn that is closed for a new input, whose guardrails have begun', async () => {
    const talk = conversation()
    const seen: string[] = []
    const guard = guardrail('guard', {
      onTurnStart: ({ turn, resumed, state }) => void seen.push(`start ${turn} ${resumed} ${Object.keys(state).length}`),
      afterCall: (_call, { status }) => void seen.push(status),
      onTurnEnd: ({ turn, status }) => void seen.push(`end ${turn} ${status}`),
    })
    const agent = agentOf([call('there'), { text: 'new' }], { tools: [remote('there')], guardrails: [guard] })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, 'something else', { onInputWhilePending: 'cancel' })
    expect(result).toMatchObject({ status: 'completed', text: 'new' })
    expect(seen).toEqual([
      'start 1 false 0',
      'end 1 awaiting-tools',
      'start 1 true 0',
      'cancelled',
      'end 1 aborted',
      'start 2 false 0',
      'end 2 completed',
    ])
  })

  it('A107: hooks and guardrails that hang delay an aborted run no longer than its grace period', async () => {
    const talk = conversation()
    const slow = gated('slow')
    const hang = { extensions: [extension('hang', { onToolResult: never })], guardrails: [guardrail('hang', { afterCall: never })] }
    const agent = agentOf([calls(['1', 'slow'], ['2', 'slow'])], { tools: [slow.tool], abortGraceMs: 100, ...hang })
    const run = talk.run(agent, 'go')
    await until(() => slow.started.length === 2)
    run.abort()
    const stoppedAt = talk.clock.now()
    let ended = false
    void run.result().then(() => (ended = true))
    await talk.clock.advance(100)
    await until(() => ended || talk.clock.pendingTimers > 0)
    await talk.clock.advance(0)
    await until(() => ended)
    expect(talk.clock.now() - stoppedAt).toBe(100)
    expect(ends(talk.journal.log).map(({ status }) => status)).toEqual(['unknown', 'unknown'])
  })

  it('A108: what a hook removes from an outcome is not stored either if the run is stopped meanwhile', async () => {
    const talk = conversation()
    const asked = Promise.withResolvers<void>()
    const redacted = Promise.withResolvers<{ output: string }>()
    const redact = extension('redact', { onToolResult: () => (asked.resolve(), redacted.promise) })
    const run = talk.run(agentOf([call('echo')], { tools: [echo('echo').tool], extensions: [redact] }), 'go')
    await asked.promise
    run.abort()
    redacted.resolve({ output: '[redacted]' })
    await run.result()
    expect(JSON.stringify(talk.journal.log)).not.toContain('echo said')
    expect(ends(talk.journal.log)).toMatchObject([{ output: { type: 'text', value: '[redacted]' } }])
  })

  it('A149: also an unknown outcome that the model is told of', async () => {
    const talk = conversation()
    const { seen, observers } = watching()
    const slow = gated('slow')
    const timed = defineTool({
      name: 'slow',
      description: 'x',
      inputSchema: {},
      timeoutMs: 50,
      onUnknownOutcome: 'tell-model',
      execute: (_input, context) => slow.tool.execute?.({}, context) as Promise<string>,
    })
    const run = talk.run(agentOf([call('slow'), { text: 'ok' }], { tools: [timed], abortGraceMs: 10, ...observers }), 'go')
    await until(() => slow.started.length === 1)
    await talk.clock.advance(50)
    await talk.clock.advance(10)
    expect((await run.result()).status).toBe('completed')
    expect(seen).toEqual(['hook x unknown', 'guard x unknown true'])
  })
})

describe('events of calls for hooks', () => {
  it('A48: onStepEnd gets the input as the model wrote it, whatever the tool does to it', async () => {
    const talk = conversation()
    const inputs: JSONValue[] = []
    const greedy = defineTool({
      name: 'greedy',
      description: 'x',
      inputSchema: { type: 'object' },
      execute: (input) => (Object.assign(input as object, { mine: true }), 'done'),
    })
    const watch = extension('watch', { onStepEnd: ({ toolCalls }) => void inputs.push(...toolCalls.map(({ input }) => input)) })
    await talk.play(agentOf([call('greedy', 'x', { a: 1 }), { text: 'ok' }], { tools: [greedy], extensions: [watch] }), 'go')
    expect(inputs).toEqual([{ a: 1 }])
  })

  it('A168: the outcome of another call is stored before a hook is asked', async () => {
    const talk = conversation()
    const stored: string[] = []
    const look = extension('look', {
      onToolResult: ({ call: { toolCallId } }) =>
        void stored.push(
          `${toolCallId}: ${ends(talk.journal.log)
            .map((end) => end.toolCallId)
            .join()}`,
        ),
    })
    const agent = agentOf([calls(['1', 'none'], ['2', 'none'], ['3', 'echo']), { text: 'ok' }], {
      tools: [echo('echo').tool],
      extensions: [look],
    })
    await talk.play(agent, 'go')
    expect(stored).toEqual(['1: ', '2: 1', '3: 1,2'])
    expect(resultsOf(agent.model.calls[1])).toHaveLength(3)
  })
})
