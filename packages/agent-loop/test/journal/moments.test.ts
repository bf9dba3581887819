import { describe, expect, it } from 'vitest'
import { defineExtension, defineGuardrail, defineTool } from '../../src/index.ts'
import type { Hooks, Journal } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { echo, until } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

function watching(...names: (keyof Hooks)[]) {
  return defineExtension({ name: 'watch', hooks: Object.fromEntries(names.map((name) => [name, () => undefined])) })
}

/** Rejects the first commit that the condition names, and all commits after it. */
function failingAt(isLost: (types: readonly string[]) => boolean) {
  let lost = false
  return (journal: Journal): Journal => ({
    ...journal,
    commit(records, expect) {
      lost ||= isLost(records.flatMap((record) => (record.type === 'event' ? [record.event.type] : [])))
      return lost ? Promise.reject(new Error('gone')) : journal.commit(records, expect)
    },
  })
}

describe('moments between two commits', () => {
  it.each(['afterModelCall', 'onToolCall', 'onToolResult'] as const)(
    'I4: an open call is stored with its row, also when %s is asked first',
    async (hook) => {
      const talk = conversation()
      const steps = [{ toolCalls: [call('x', 'nobody'), call('y', 'a')] }, { text: 'done' }]
      await talk.play(agentOf(steps, { tools: [echo('a').tool], extensions: [watching(hook)] }), 'go')
      const stored = talk.journal.commits.find((records) => records.some(({ type }) => type === 'call'))
      expect(stored?.some((record) => record.type === 'event' && record.event.type === 'message-end')).toBe(true)
      expect(stored?.flatMap((record) => (record.type === 'call' ? [record.call.toolCallId] : []))).toEqual(
        expect.arrayContaining(['x', 'y']),
      )
    },
  )

  it('A44: the usage booked for a withdrawn attempt is in the sums of a turn that is yielded right after it', async () => {
    const talk = conversation({ unfinished: true, wrap: failingAt((types) => types.includes('message-end')) })
    const agent = agentOf([{ text: 'lost' }, { text: 'done' }])
    await talk.run(agent, 'go').result()
    const leaving = new AbortController()
    const left = talk.run(agent, undefined, { journal: { ...talk.journal, abortSignal: leaving.signal } })
    leaving.abort({ kind: 'yield' })
    await left.result()
    const { open } = await talk.memory.load()
    const booked = talk.journal.events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))
    expect(open?.usage).toEqual(booked[0] ?? {})
    await talk.run(agent, undefined, { journal: talk.journal }).result()
    expect(talk.journal.events.findLast((event) => event.type === 'turn-end')).toMatchObject({
      status: 'completed',
      usage: { estimated: true },
    })
  })

  it('A107: a call that is stopped before its request is not asked about', async () => {
    const stop = new AbortController()
    const stopping = (journal: Journal): Journal => ({
      ...journal,
      commit: (records, expect) => (stop.abort(), journal.commit(records, expect)),
    })
    const talk = conversation({ wrap: stopping })
    let asked = 0
    const agent = agentOf([], { ephemeral: () => (asked++, new Promise(() => {})), abortGraceMs: 0 })
    expect(await talk.run(agent, 'go', { abortSignal: stop.signal }).result()).toMatchObject({ status: 'aborted' })
    expect(asked).toBe(0)
  })

  it('A169: a journal that fails after a stop ends the calls that were in their grace period', async () => {
    const talk = conversation({ unfinished: true, wrap: failingAt((types) => types.includes('tool-execution-end')) })
    const late = defineTool({
      name: 'late',
      description: '',
      inputSchema: {},
      effect: 'pure',
      async execute(_input, { emit, abortSignal }) {
        await new Promise<void>((resolve) => abortSignal.addEventListener('abort', () => resolve(), { once: true }))
        for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
        emit('is anybody there?')
        return 'late'
      },
    })
    const halting = defineGuardrail({ name: 'halting', afterCall: () => ({ action: 'halt' }) })
    const agent = agentOf([{ toolCalls: [call('x', 'a'), call('y', 'late')] }], { tools: [echo('a').tool, late], guardrails: [halting] })
    const run = talk.run(agent, 'go')
    expect(await run.result()).toMatchObject({ reason: 'journal-error' })
    const seen = talk.types().length
    for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect(talk.types()).toHaveLength(seen)
    expect(talk.clock.pendingTimers).toBe(0)
  })

  it('A80: a stored denial counts, though its process died before the outcome', async () => {
    const talk = conversation({ unfinished: true, wrap: failingAt((types) => types.includes('tool-execution-end')) })
    const asks = defineTool({ name: 'asks', description: '', inputSchema: {}, needsApproval: true, execute: () => 'never' })
    const agent = agentOf([{ toolCalls: [call('x', 'asks')] }, { text: 'done' }], { tools: [asks], extensions: [watching('onToolResult')] })
    const [request] = (await talk.run(agent, 'go').result()).pendingApprovals
    const approvals = [{ approvalId: request?.approvalId ?? '', decision: 'deny' as const, reason: 'rather not' }]
    expect(await talk.run(agent, { approvals }).result()).toMatchObject({ reason: 'journal-error' })
    await until(() => talk.types().includes('approval-resolved'))
    const result = await talk.run(agent, undefined, { journal: talk.journal }).result()
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(talk.types().filter((type) => type === 'approval-requested')).toHaveLength(1)
    expect(result.messages[0]).toMatchObject({ status: 'denied', output: { reason: 'rather not' } })
  })
})
