import { describe, expect, it } from 'vitest'
import { emptyView, reduceEvents } from '../../src/events/index.ts'
import type { AgentEvent } from '../../src/index.ts'
import { checkEvents } from '@bowline/testing'
import { agentOf, conversation } from '../support/conversation.ts'
import { echo } from '../support/tools.ts'

const base = { at: 0, runId: 'far', turn: 1, step: 1, background: ['d'] }
const asks = {
  ...base,
  type: 'approval-requested',
  approvalId: 'far_1',
  toolCallId: 's',
  toolName: 'send',
  input: {},
  inputHash: 'h',
  path: ['d'],
  agent: ['scout'],
} as const
const decided = { ...base, type: 'approval-resolved', approvalId: 'far_1', toolCallId: 's', decision: 'approve', agent: ['scout'] } as const
const waits = (...ids: string[]) =>
  ({
    ...base,
    type: 'awaiting-tools',
    agent: ['scout'],
    pendingToolCalls: ids.map((toolCallId) => ({ toolCallId, toolName: 'far', input: {}, path: ['d'], agent: ['scout'] })),
  }) as const

/** Plays a turn with a call, and puts each of these events after the first event of its type. */
async function logWith(...placed: readonly (readonly [AgentEvent['type'], AgentEvent])[]): Promise<readonly AgentEvent[]> {
  const talk = conversation()
  await talk.play(agentOf([{ toolCalls: [{ id: 'x', name: 'a', input: {} }] }, { text: 'two' }], { tools: [echo('a').tool] }), 'go')
  const all: AgentEvent[] = [...talk.journal.events]
  for (const [type, event] of placed) all.splice(all.findIndex((each) => each.type === type) + 1, 0, event)
  return all.map((event, index) => ({ ...event, seq: index + 1 }))
}

const viewOf = (events: readonly AgentEvent[]) => events.reduce(reduceEvents, emptyView)

describe('questions of background tasks', () => {
  it('may be anywhere in the log, and stays open until it is answered, whatever turns begin and end', async () => {
    const open = await logWith(['message-end', asks], ['tool-execution-start', waits('r', 'q')])
    expect(checkEvents(open)).toEqual([])
    expect(viewOf(open)).toMatchObject({
      pendingApprovals: [{ approvalId: 'far_1', background: ['d'] }],
      pendingToolCalls: [{ toolCallId: 'r', background: ['d'] }, { toolCallId: 'q' }],
    })
    const answered = await logWith(
      ['message-end', asks],
      ['tool-execution-start', waits('r')],
      ['tool-execution-end', waits()],
      ['save-point', decided],
    )
    expect(checkEvents(answered)).toEqual([])
    expect(viewOf(answered)).toMatchObject({ pendingApprovals: [], pendingToolCalls: [] })
  })

  it('A164, S94: a task started below another task still asks, whatever the task above it asks', async () => {
    const inner = {
      ...waits(),
      background: ['d', 'e'],
      pendingToolCalls: [{ toolCallId: 'r', toolName: 'far', input: {}, path: ['d', 'e'], agent: ['scout', 'scout'] }],
    } as const
    const below = {
      ...waits(),
      pendingToolCalls: [{ toolCallId: 'q', toolName: 'far', input: {}, path: ['d', 'f'], agent: ['scout', 'scout'] }],
    } as const
    const asked = async (...events: readonly AgentEvent[]) =>
      viewOf(await logWith(...events.toReversed().map((event) => ['tool-execution-end', event] as const))).pendingToolCalls.map(
        ({ toolCallId }) => toolCallId,
      )
    expect(await asked(inner, below)).toEqual(['r', 'q'])
    expect(await asked(inner, below, waits('s'))).toEqual(['r', 's'])
    expect(await asked(inner, below, { ...inner, pendingToolCalls: [] }, waits())).toEqual([])
    expect(await asked(inner, waits())).toEqual(['r'])
  })

  it('A35: a changed definition may be reported anywhere in the log, and leaves the view unchanged', async () => {
    const held = {
      at: 0,
      runId: 'far',
      turn: 1,
      agent: ['scout'],
      path: ['d'],
      type: 'error',
      source: 'definition',
      message: 'It has changed.',
      fatal: false,
    } as const
    const { seq: _seq, ...plain } = viewOf(await logWith())
    for (const type of ['user-message', 'message-end', 'tool-execution-start', 'turn-end', 'save-point'] as const) {
      const log = await logWith([type, held])
      expect(checkEvents(log)).toEqual([])
      expect(viewOf(log)).toMatchObject(plain)
    }
  })

  it('A35: finds a question that comes twice, and an answer without a question', async () => {
    expect(checkEvents(await logWith(['message-end', asks], ['message-end', asks]))).toEqual([
      expect.stringContaining('the approval id far_1 is already used'),
    ])
    expect(checkEvents(await logWith(['message-end', decided]))).toEqual([
      expect.stringContaining('is not open: it was not requested or is already resolved'),
    ])
  })
})
