import { describe, expect, it } from 'vitest'
import { createBudget, defineTool } from '../../../src/index.ts'
import type { ChildReport } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { gated, until } from '../../support/tools.ts'
import { plainCall } from './support.ts'

const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }

/** Plays a turn with a tool that delegates its work elsewhere and makes these reports. */
async function reported(reports: readonly ChildReport[]) {
  const talk = conversation()
  const bridge = defineTool({
    name: 'bridge',
    description: '',
    inputSchema: {},
    execute: (_input, { reportChild }) => {
      for (const report of reports) reportChild(report)
      return 'so'
    },
  })
  const budget = createBudget({ maxTotalTokens: 100_000 })
  const agent = agentOf([{ toolCalls: [plainCall('b', 'bridge')] }, { text: 'done' }], { tools: [bridge] })
  const { result } = await talk.play(agent, 'go', { budget })
  return { result, talk, budget, told: talk.journal.events.filter(({ type }) => type.startsWith('child') || type === 'usage') }
}

describe('reportChild', () => {
  it('A182: reports start, at most one update per step, end and usage, and counts in usage and budget', async () => {
    const { result, told, budget } = await reported([
      { kind: 'start', childRunId: 'x', subagent: 'far', description: 'a task' },
      { kind: 'update', childRunId: 'x', step: 1, text: `${'y'.repeat(499)}😀 and more`, toolNames: ['look'] },
      { kind: 'update', childRunId: 'x', step: 1, text: 'again' },
      { kind: 'update', childRunId: 'x', step: 2 },
      { kind: 'end', childRunId: 'x', status: 'completed', usage },
    ])
    expect(told).toMatchObject([
      { type: 'child-start', toolCallId: 'b', childRunId: 'x', subagent: 'far', description: 'a task' },
      { type: 'child-update', step: 1, status: 'running', text: `${'y'.repeat(499)}\uFFFD`, toolNames: ['look'] },
      { type: 'child-update', subagent: 'far', step: 2, toolNames: [] },
      { type: 'child-end', subagent: 'far', status: 'completed', usage },
      { type: 'usage', purpose: 'child', usage },
    ])
    expect(result.usage.inputTokens).toBe(120)
    expect(budget.left.tokens).toBe(100_000 - 140)
  })

  it('A182: a report that comes twice, or after the end, is dropped', async () => {
    const { result, told } = await reported([
      { kind: 'start', childRunId: 'x', subagent: 'far' },
      { kind: 'start', childRunId: 'x', subagent: 'far' },
      { kind: 'end', childRunId: 'x', status: 'error', usage, error: { code: 'journal-failed', message: 'gone' } },
      { kind: 'end', childRunId: 'x', status: 'completed', usage },
      { kind: 'update', childRunId: 'x', step: 1 },
      { kind: 'start', childRunId: 'x', subagent: 'far' },
    ])
    expect(told.map(({ type }) => type)).toEqual(['child-start', 'child-end', 'usage'])
    expect(result.usage.inputTokens).toBe(120)
  })

  it('A182: steps may be counted from 0; a step that is not above the last reported one is dropped', async () => {
    const { told } = await reported([0, 1, 0, 3, 2].map((step): ChildReport => ({ kind: 'update', childRunId: 'x', step })))
    expect(told.flatMap((event) => (event.type === 'child-update' ? event.step : []))).toEqual([0, 1, 3])
  })

  it('A182: an end without an earlier report is reported with its start', async () => {
    const { told } = await reported([{ kind: 'end', childRunId: 'x', status: 'completed', usage }])
    expect(told).toMatchObject([{ type: 'child-start', subagent: 'bridge' }, { type: 'child-end', subagent: 'bridge' }, { type: 'usage' }])
  })

  it('A44: usage booked before a run was yielded is in the usage of its turn', async () => {
    const controller = new AbortController()
    const talk = conversation({ wrap: (journal) => ({ ...journal, abortSignal: controller.signal }) })
    const gate = gated('wait', { effect: 'pure' })
    const bridge = defineTool({
      name: 'bridge',
      description: '',
      inputSchema: {},
      execute: (_input, { reportChild }) => {
        reportChild({ kind: 'end', childRunId: 'x', status: 'completed', usage })
        return 'so'
      },
    })
    const agent = agentOf([{ toolCalls: [plainCall('b', 'bridge'), plainCall('w', 'wait')] }, { text: 'done' }], {
      tools: [bridge, gate.tool],
    })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('tool-execution-end'))
    controller.abort({ kind: 'yield' })
    gate.open('w')
    expect(await run.result()).toMatchObject({ reason: 'yielded' })
    const next = await agent.run(undefined, { journal: talk.journal, clock: talk.clock, ids: talk.ids }).result()
    expect(next).toMatchObject({ status: 'completed', usage: { inputTokens: 120 } })
  })

  it('A182: a call that runs again after its run was yielded repeats no event of the log', async () => {
    const controller = new AbortController()
    const talk = conversation({ wrap: (journal) => ({ ...journal, abortSignal: controller.signal }) })
    let runs = 0
    const bridge = defineTool({
      name: 'bridge',
      description: '',
      inputSchema: {},
      effect: 'idempotent' as const,
      execute: (_input, { reportChild }) => {
        reportChild({ kind: 'start', childRunId: 'x', subagent: 'far' })
        reportChild({ kind: 'update', childRunId: 'x', step: 1 })
        reportChild({ kind: 'end', childRunId: 'y', status: 'completed', usage })
        if (++runs === 1) return new Promise<string>(() => undefined)
        reportChild({ kind: 'update', childRunId: 'x', step: 2 })
        reportChild({ kind: 'end', childRunId: 'x', status: 'completed', usage })
        return 'so'
      },
    })
    const agent = agentOf([{ toolCalls: [plainCall('b', 'bridge')] }, { text: 'done' }], { tools: [bridge] })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().filter((type) => type === 'child-end').length === 1)
    controller.abort({ kind: 'yield' })
    await talk.clock.advance(60_000)
    expect(await run.result()).toMatchObject({ reason: 'yielded' })
    const next = await agent.run(undefined, { journal: talk.journal, clock: talk.clock, ids: talk.ids }).result()
    expect(next).toMatchObject({ status: 'completed', usage: { inputTokens: 220 } })
    expect(runs).toBe(2)
    const told = talk.journal.events.flatMap((event) => ('childRunId' in event ? `${event.type} ${event.childRunId}` : []))
    expect(told).toEqual(['child-start x', 'child-update x', 'child-start y', 'child-end y', 'child-update x', 'child-end x'])
  })

  it('A182: several children are reported separately', async () => {
    const { result, talk } = await reported(
      ['x', 'y'].flatMap((childRunId): ChildReport[] => [
        { kind: 'start', childRunId, subagent: childRunId },
        { kind: 'end', childRunId, status: 'completed', usage },
      ]),
    )
    expect(talk.view().children.map(({ childRunId, status }) => [childRunId, status])).toEqual([
      ['x', 'completed'],
      ['y', 'completed'],
    ])
    expect(result.usage.inputTokens).toBe(220)
  })
})
