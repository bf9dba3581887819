import { createModels } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineExtension, defineTool, nullCompaction, phaseOf } from '../../../src/index.ts'
import type { Agent, AgentOptions, CompactionPolicy } from '../../../src/index.ts'
import { conversation, model } from '../../support/conversation.ts'
import { textOfRequest } from '../../support/prompts.ts'
import { long } from './messages.ts'

const contextWindow = 10_000

/** Creates an agent whose model has a window of 10,000 tokens; a compaction is due above 9,000. */
function agentWith(steps: readonly Step[], options: Partial<AgentOptions> = {}) {
  const scripted = model(steps)
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:small': { contextWindow } },
  })
  const compaction: Partial<CompactionPolicy> = { reserveTokens: 1_000, keepRecentTokens: 50 }
  const agent: Agent = defineAgent({ model: 'test:small', models, retry: false, compaction, runtimeParams: { maxTokens: 500 }, ...options })
  return { agent, scripted }
}

const used = (input: number): NonNullable<Step['usage']> => ({ input, output: 1 })
const overflow = Object.assign(new Error('prompt is too long: 20000 tokens > 10000 maximum'), { statusCode: 400 })

describe('compactions of whole turns', () => {
  it('A129: after a turn it runs at one token above window − reserveTokens', async () => {
    const { agent, scripted } = agentWith([
      { text: 'a', usage: used(8_999) },
      { text: long(400), usage: used(9_000) },
      { text: 'short', usage: used(500) },
    ])
    const { play, types, memory } = conversation()
    await play(agent, long(400))
    expect(types()).not.toContain('compaction-start')
    const { result } = await play(agent, 'more')
    expect(result.status).toBe('completed')
    expect(types().slice(-5)).toEqual(['save-point', 'compaction-start', 'usage', 'compaction-end', 'settled'])
    expect((await memory.load()).compaction).toMatchObject({ summary: 'short' })
    expect(scripted.calls).toHaveLength(3)
  })

  it('A132: the next request has the summary and the kept part, and the transcript has all messages', async () => {
    const { agent, scripted } = agentWith([{ text: long(400, 'a'), usage: used(9_100) }, { text: 'SUMMARY' }, { text: 'on' }])
    const { play, memory } = conversation()
    await play(agent, `FIRST ${long(400)}`)
    await play(agent, 'SECOND')
    const request = textOfRequest(scripted.calls[2])
    expect(request).toContain('SUMMARY')
    expect(request).toContain('SECOND')
    expect(request).not.toContain('FIRST')
    expect((await memory.load()).messages).toHaveLength(4)
  })

  it('A132: a rewind does not withdraw the message on which the summary is based', async () => {
    const busy = Object.assign(new Error('busy'), { statusCode: 503 })
    const big = defineTool({ name: 'big', description: 'x', inputSchema: {}, effect: 'pure', execute: () => long(16_000) })
    const steps: Step[] = [
      { text: long(800), toolCalls: [{ name: 'big', input: {} }], usage: used(6_000) },
      { text: 'SUMMARY' },
      { error: busy },
      { text: 'done' },
    ]
    const retry = { rewind: 'turn', maxRetries: 1, baseDelayMs: 0, jitter: 0 } as const
    const { agent, scripted } = agentWith(steps, { tools: [big], retry })
    const { play, memory } = conversation()
    await play(agent, 'FIRST')
    const { messages, compaction } = await memory.load()
    expect(messages.map(({ id }) => id)).toContain(compaction?.firstKeptMessageId)
    expect(textOfRequest(scripted.calls[3])).toContain('SUMMARY')
  })

  it('A34: the phase is compaction in one after a turn, turn in one before a call, and idle after both', async () => {
    const phases: string[] = []
    const talk = conversation()
    const watch = defineExtension({
      name: 'watch',
      hooks: { beforeCompaction: ({ trigger }) => void phases.push(`${trigger} ${phaseOf(talk.journal)}`) },
    })
    const big = defineTool({ name: 'big', description: 'x', inputSchema: {}, effect: 'pure', execute: () => long(16_000) })
    const steps: Step[] = [
      { text: long(800), toolCalls: [{ name: 'big', input: {} }], usage: used(6_000) },
      { text: 'before the call' },
      { text: long(400), usage: used(9_900) },
      { text: 'behind the turn' },
    ]
    const { agent } = agentWith(steps, { extensions: [watch], tools: [big] })
    await talk.play(agent, long(400))
    expect(phases).toEqual(['window turn', 'threshold compaction'])
    expect(phaseOf(talk.journal)).toBe('idle')
  })

  it('A126: an overflow compacts and calls once more', async () => {
    const { agent, scripted } = agentWith(
      [{ text: long(4_000, 'a'), usage: used(2_000) }, { error: overflow }, { text: 'SUMMARY' }, { text: 'fits' }],
      {
        compaction: { reserveTokens: 1_000 },
      },
    )
    const { play, journal } = conversation()
    await play(agent, `FIRST ${long(4_000)}`)
    const { result } = await play(agent, 'more')
    expect(result).toMatchObject({ status: 'completed', text: 'fits' })
    expect(journal.events.map(({ type }) => type).slice(-17)).toEqual([
      ...['turn-start', 'step-start', 'message-start', 'message-discarded', 'usage'],
      // The second `usage` reports that the summary changes the beginning of the request.
      ...['compaction-start', 'usage', 'compaction-end', 'retry-start', 'message-start', 'message-end', 'retry-end', 'usage'],
      ...['step-end', 'turn-end', 'save-point', 'settled'],
    ])
    expect(textOfRequest(scripted.calls[3])).not.toContain('FIRST')
  })

  it('A126: a second overflow of the turn ends it as error', async () => {
    const { agent } = agentWith([
      { text: long(4_000, 'a'), usage: used(2_000) },
      { error: overflow },
      { text: 'SUMMARY' },
      { error: overflow },
    ])
    const { play, types } = conversation()
    await play(agent, long(4_000))
    const { result } = await play(agent, 'more')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'context-overflow' } })
    expect(types().filter((type) => type === 'compaction-start')).toHaveLength(1)
  })

  it.each([
    ['is disabled', false as const],
    ['has nothing to summarise', undefined],
  ])('A126: an overflow ends the turn as error when compaction %s', async (_name, compaction) => {
    const { agent } = agentWith([{ error: overflow }], { ...(compaction === false && { compaction }) })
    const { play } = conversation()
    expect((await play(agent, 'hi')).result).toMatchObject({ status: 'error', error: { kind: 'context-overflow' } })
  })

  it('A127: a rate limit starts no compaction', async () => {
    const { agent } = agentWith([
      { text: long(400), usage: used(8_000) },
      { error: Object.assign(new Error('rate limit'), { statusCode: 429 }) },
    ])
    const { play, types } = conversation()
    await play(agent, long(400))
    expect((await play(agent, 'more')).result.status).toBe('error')
    expect(types()).not.toContain('compaction-start')
  })

  it('A134: a failed compaction changes neither the transcript nor the status of the turn', async () => {
    const { agent } = agentWith([{ text: long(400), usage: used(9_100) }, { error: new Error('down') }])
    const { play, journal, memory } = conversation()
    const { result } = await play(agent, long(400))
    expect(result.status).toBe('completed')
    expect(journal.log.find(({ type }) => type === 'compaction-end')).toMatchObject({ outcome: 'failed' })
    const { messages, compaction } = await memory.load()
    expect([messages.length, compaction]).toEqual([2, undefined])
  })

  it('A138: after three failures in a row none runs automatically, and one by hand does', async () => {
    const turns = Array.from({ length: 3 }, (): Step[] => [{ text: long(400), usage: used(9_100) }, { error: new Error('down') }]).flat()
    const { agent } = agentWith([...turns, { text: long(400), usage: used(9_500) }, { text: 'by hand' }])
    const { play, types, journal, clock, ids } = conversation()
    for (let turn = 0; turn < 4; turn++) await play(agent, long(400))
    expect(types().filter((type) => type === 'compaction-start')).toHaveLength(3)
    expect(await agent.compact({ journal, clock, ids })).toMatchObject({ outcome: 'done', compaction: { summary: 'by hand' } })
  })

  it('A139: a compaction that a tool requests runs once, after the turn', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'x',
      inputSchema: {},
      effect: 'pure' as const,
      execute: (_input, context) => {
        context.compactAfterTurn()
        context.compactAfterTurn()
        return long(400)
      },
    })
    const { agent } = agentWith(
      [{ text: long(400), toolCalls: [{ name: 'ask', input: {} }] }, { text: long(400) }, { text: 'SUMMARY' }, { text: 'on' }],
      { tools: [ask] },
    )
    const { play, types, journal } = conversation()
    await play(agent, long(400))
    expect(types().slice(-4)).toEqual(['compaction-start', 'usage', 'compaction-end', 'settled'])
    expect(journal.log.find(({ type }) => type === 'compaction-start')).toMatchObject({ trigger: 'requested' })
    await play(agent, 'more')
    expect(types().filter((type) => type === 'compaction-start')).toHaveLength(1)
  })

  it('A134: a stop in a compaction before a call cancels it and ends the turn as aborted', async () => {
    const stop = new AbortController()
    const { agent } = agentWith([
      { text: long(800), usage: used(8_900) },
      { expect: () => stop.abort(), hang: 'before' },
    ])
    const { play, journal, memory } = conversation()
    await play(agent, long(400))
    const { result } = await play(agent, long(4_000), { abortSignal: stop.signal })
    expect(result).toMatchObject({ status: 'aborted' })
    expect(journal.log.find(({ type }) => type === 'compaction-end')).toMatchObject({ outcome: 'cancelled' })
    expect((await memory.load()).compaction).toBeUndefined()
  })

  it('A134: a stop in a compaction after a turn cancels it and the turn stays completed', async () => {
    const stop = new AbortController()
    const { agent } = agentWith([
      { text: long(800), usage: used(9_900) },
      { expect: () => stop.abort(), hang: 'before' },
    ])
    const { play, journal } = conversation()
    const { result } = await play(agent, long(400), { abortSignal: stop.signal })
    expect(result).toMatchObject({ status: 'completed' })
    expect(journal.log.find(({ type }) => type === 'compaction-end')).toMatchObject({ outcome: 'cancelled' })
  })

  it('none begins after a turn that was stopped', async () => {
    const { agent } = agentWith([{ text: long(800), usage: used(9_900), finish: false, hang: 'end' }])
    const { run, types } = conversation()
    const started = run(agent, long(400))
    for await (const event of started) if (event.type === 'text-end') started.abort()
    expect((await started.result()).status).toBe('aborted')
    expect(types()).not.toContain('compaction-start')
  })

  it('A140: an extension replaces the compaction of a turn without a model call, and is notified of it', async () => {
    const told: string[] = []
    const mine = defineExtension({
      name: 'mine',
      hooks: {
        beforeCompaction: ({ firstKeptMessageId = '' }) => ({ compaction: { summary: 'MINE', firstKeptMessageId } }),
        afterCompaction: ({ compaction }) => void told.push(compaction.summary),
      },
    })
    const { agent, scripted } = agentWith([{ text: long(400), usage: used(9_100) }, { text: 'on' }], { extensions: [mine] })
    const { play, view } = conversation()
    await play(agent, long(400))
    await play(agent, 'more')
    expect(told).toEqual(['MINE'])
    expect(textOfRequest(scripted.calls[1])).toContain('MINE')
    expect(view().compaction).toMatchObject({ source: 'extension' })
  })

  it('A137: its usage is in the sums of a turn that needed it', async () => {
    const { agent } = agentWith([
      { text: long(4_000, 'a'), usage: used(2_000) },
      { error: overflow },
      { text: 'SUMMARY', usage: used(700) },
      { text: 'fits', usage: used(300) },
    ])
    const { play } = conversation()
    await play(agent, long(4_000))
    expect((await play(agent, 'more')).result.usage.inputTokens).toBeGreaterThanOrEqual(1_000)
  })

  it('A141: nullCompaction and false never change the view', async () => {
    for (const compaction of [nullCompaction, false] as const) {
      const { agent } = agentWith([{ text: 'a', usage: used(9_900) }], { compaction })
      const { play, types, journal } = conversation()
      await play(agent, 'hi')
      expect(types()).not.toContain('compaction-start')
      expect(await agent.compact({ journal })).toMatchObject({ outcome: 'skipped' })
      expect(types()).not.toContain('compaction-start')
    }
  })

  it('A129: a compaction that a journal has postponed is stored with the given run id and trigger', async () => {
    const { agent } = agentWith([{ text: long(400), usage: used(500) }, { text: 'SUMMARY' }])
    const { play, journal, clock, ids } = conversation()
    await play(agent, long(400))
    const runId = 'run of its own'
    expect(await agent.compact({ journal, clock, ids, runId, trigger: 'threshold' })).toMatchObject({ outcome: 'done' })
    expect(journal.log.find(({ type }) => type === 'compaction-start')).toMatchObject({ runId, trigger: 'threshold' })
    expect(() => agent.compact({ journal, trigger: 'whim' as never })).toThrow(/trigger/)
  })

  it('A30: by hand it throws busy while a turn runs, and is skipped while a turn is open', async () => {
    const far = defineTool({ name: 'far', description: 'x', inputSchema: {} })
    const { agent } = agentWith([{ toolCalls: [{ name: 'far', input: {} }] }], { tools: [far] })
    const { run, journal } = conversation()
    const started = run(agent, 'hi')
    expect(() => agent.compact({ journal })).toThrow(expect.objectContaining({ code: 'busy' }))
    expect((await started.result()).status).toBe('awaiting-tools')
    expect(await agent.compact({ journal })).toMatchObject({ outcome: 'skipped' })
    expect(phaseOf(journal)).toBe('idle')
  })

  it('A130: the estimate continues in another process, from the conversation alone', async () => {
    const { agent } = agentWith([{ text: long(400), usage: used(9_100) }, { text: 'SUMMARY' }])
    const { play, journal } = conversation()
    await play(agent, long(400))
    const { agent: again, scripted } = agentWith([{ text: 'b', usage: used(400) }])
    const steps = (await play(again, 'more')).events.flatMap((event) => (event.type === 'step-start' ? event.contextTokens : []))
    expect(steps[0]).toBeLessThan(400)
    expect(scripted.calls).toHaveLength(1)
    expect(journal.log.filter(({ type }) => type === 'compaction-start')).toHaveLength(1)
  })
})
