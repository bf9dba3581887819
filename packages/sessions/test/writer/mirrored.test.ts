import { defineAgent, defineExtension, defineTool, type Agent, type AgentOptions } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { mirroredSession } from './mirrored-session.ts'

const used = (input: number): NonNullable<Step['usage']> => ({ input, output: 1 })
const busy = { error: Object.assign(new Error('Rate limit reached'), { statusCode: 429 }) }
const overflow = { error: Object.assign(new Error('prompt is too long: 20000 tokens > 10000 maximum'), { statusCode: 400 }) }
const long = (length: number, letter = 'x'): string => letter.repeat(length)
const call = (name: string, id = `call-${name}`) => ({ id, name, input: {} })

/** No wait: the manual clock stands still. */
const retry = { baseDelayMs: 0, jitter: 0 }

function agentOf(steps: readonly Step[], options: Partial<AgentOptions> = {}): Agent {
  const models = createModels({
    providers: { test: { languageModel: () => scriptedModel(steps) } },
    models: { 'test:small': { contextWindow: 10_000 } },
  })
  return defineAgent({ name: 'assistant', model: 'test:small', models, retry, runtimeParams: { maxTokens: 500 }, ...options })
}

const look = (steered?: string) =>
  defineTool({
    name: 'look',
    description: 'Looks.',
    inputSchema: z.object({}),
    effect: 'pure',
    execute: async (_input, context) => {
      if (steered !== undefined) await context.steer(steered)
      return 'seen'
    },
  })

describe('after each commit the journal over a store equals the memory journal', () => {
  it('S114: attempts, waits and the position of a fallback', async () => {
    const session = await mirroredSession()
    const broken = { error: Object.assign(new Error('Invalid API key'), { statusCode: 401 }) }
    const agent = agentOf([busy, busy, { toolCalls: [call('look')] }, broken], {
      tools: [look()],
      fallback: [scriptedModel([busy, { text: 'done' }])],
    })
    expect(await session.play(agent, 'go')).toMatchObject({ status: 'completed', text: 'done', steps: 2 })
    expect(session.compared()).toBeGreaterThan(8)
  })

  it('S85: a failed attempt discards what the turn said; steered inputs and executed tools stay', async () => {
    const session = await mirroredSession()
    const agent = agentOf([{ toolCalls: [call('look')] }, busy, { text: 'from the start' }, { text: 'next' }], {
      tools: [look('and the rest')],
      retry: { ...retry, rewind: 'turn' },
    })
    expect(await session.play(agent, 'go')).toMatchObject({ status: 'completed', text: 'from the start' })
    expect((await session.state()).messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant'])
    expect(await session.play(agent, 'again')).toMatchObject({ text: 'next' })
  })

  it('S85: a turn with rewind moves the leaf back to before its input', async () => {
    const session = await mirroredSession()
    const agent = agentOf([{ text: 'first' }, busy, { text: 'third' }], { retry: false, onFailedTurn: 'rewind' })
    await session.play(agent, 'one')
    expect(await session.play(agent, 'two')).toMatchObject({ status: 'error' })
    expect((await session.state()).messages).toHaveLength(2)
    expect(await session.play(agent, 'three')).toMatchObject({ text: 'third' })
    expect((await session.state()).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  it('S155: compactions before a call, after an overflow and after the turn', async () => {
    const session = await mirroredSession()
    const steps: Step[] = [
      { text: long(4_000, 'a'), usage: used(2_000) },
      overflow,
      { text: 'FIRST SUMMARY' },
      { text: long(400), usage: used(9_100) },
      { text: 'SECOND SUMMARY' },
      { text: 'on' },
    ]
    const agent = agentOf(steps, { compaction: { reserveTokens: 1_000, keepRecentTokens: 50 } })
    await session.play(agent, long(4_000))
    expect(await session.play(agent, 'more')).toMatchObject({ status: 'completed' })
    expect((await session.state()).compaction).toMatchObject({ summary: 'SECOND SUMMARY' })
    expect(await session.play(agent, 'more still')).toMatchObject({ text: 'on' })
  })

  it('S155: a compaction of a rewound turn stays in force', async () => {
    const session = await mirroredSession()
    const steps = [{ text: long(4_000, 'a'), usage: used(2_000) }, overflow, { text: 'SUMMARY' }, busy, { text: 'on' }]
    const agent = agentOf(steps, {
      retry: { ...retry, maxRetries: 0 },
      onFailedTurn: 'rewind',
      compaction: { reserveTokens: 1_000, keepRecentTokens: 50 },
    })
    await session.play(agent, long(4_000))
    expect(await session.play(agent, 'more')).toMatchObject({ status: 'error' })
    expect((await session.state()).messages).toHaveLength(2)
    expect((await session.state()).compaction).toMatchObject({ summary: 'SUMMARY' })
    expect(await session.play(agent, 'again')).toMatchObject({ text: 'on' })
  })

  it('S91, S114: approvals with edited input, overlays and records of extensions, across a suspension', async () => {
    const session = await mirroredSession()
    const sent: unknown[] = []
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      inputSchema: z.object({ to: z.string() }),
      needsApproval: true,
      execute: (input) => {
        sent.push(input)
        return 'sent'
      },
    })
    const counter = defineExtension({
      name: 'counter',
      hooks: {
        onStepStart: (_event, { state }) => void (state.steps = Number(state.steps ?? 0) + 1),
        onAgentEnd: (_event, { state }) => void (state.ends = Number(state.ends ?? 0) + 1),
      },
    })
    const steps: Step[] = [{ toolCalls: [{ id: 'call-send', name: 'send', input: { to: 'a' } }, call('look')] }, { text: 'done' }]
    const agent = agentOf(steps, { tools: [send, look()], extensions: [counter] })
    const asked = await session.play(agent, 'go', { overlays: ['only now'] })
    expect(asked).toMatchObject({ status: 'awaiting-approval' })
    expect((await session.state()).open).toMatchObject({
      overlays: [{ content: 'only now' }],
      extensionState: { counter: { steps: 1, ends: 1 } },
    })
    const approvalId = asked.pendingApprovals[0]?.approvalId ?? ''
    expect(await session.play(agent, { approvals: [{ approvalId, decision: 'approve', input: { to: 'b' } }] })).toMatchObject({
      text: 'done',
    })
    expect(sent).toEqual([{ to: 'b' }])
  })
})
