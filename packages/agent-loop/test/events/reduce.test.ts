import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../../src/base/json.ts'
import { emptyView, isBoundary, isDelta, isDurable, reduceEvents, toolCallOf } from '../../src/events/index.ts'
import type { AgentEvent, RunView } from '../../src/events/index.ts'
import { defineTool } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { remote } from '../support/tools.ts'

const fold = (events: readonly AgentEvent[], from: RunView = emptyView): RunView => events.reduce<RunView>(reduceEvents, from)

const chatty = defineTool({
  name: 'chatty',
  label: 'Chat',
  description: 'talks',
  inputSchema: { type: 'object' },
  async *execute() {
    yield 'one '
    yield 'two'
    yield { type: 'delta', delta: 'three', replace: true }
    return { output: 'said', details: { lines: 3 } }
  },
})

async function twoTurns(): Promise<Conversation> {
  const talk = conversation()
  const call = { name: 'chatty', input: { a: 1 } }
  const agent = agentOf(
    [
      { reasoning: 'hm', text: 'let me see', chunk: 2, toolCalls: [call, { id: 'r', name: 'far', input: {} }] },
      { text: 'done', chunk: 1 },
      { text: 'again' },
    ],
    { tools: [chatty, remote('far')] },
  )
  await talk.play(agent, 'go')
  await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: { ok: true } }] })
  await talk.play(agent, 'more')
  return talk
}

describe('reduceEvents', () => {
  it('A45: the durable events alone give the transcript, byte for byte', async () => {
    const talk = await twoTurns()
    const { messages } = await talk.memory.load()
    expect(JSON.stringify(fold(talk.journal.events).messages)).toBe(JSON.stringify(messages))
    expect(JSON.stringify(talk.view().messages)).toBe(JSON.stringify(messages))
  })

  it('A46: a repeated seq and an unknown type give the same view', async () => {
    const talk = await twoTurns()
    const view = talk.view()
    for (const event of talk.journal.events) expect(reduceEvents(view, event)).toBe(view)
    expect(reduceEvents(view, { type: 'invented', seq: view.seq + 1, at: 0 } as never)).toBe(view)
    expect(reduceEvents(view, { type: 'settled', at: 0, runId: 'r', turn: 1 })).toBe(view)
  })

  it('A46: deltas without their open message, block or call give the same view', async () => {
    const talk = await twoTurns()
    const view = talk.view()
    for (const event of talk.journal.log.filter(isDelta)) expect(reduceEvents(view, event)).toBe(view)
    const start = talk.journal.log.findIndex(isDelta)
    const open = fold(talk.journal.log.slice(0, start))
    const second = talk.journal.log[start + 1]
    expect(second?.type).toBe('reasoning-delta')
    expect(second && reduceEvents(open, second)).toBe(open)
  })

  it('never changes a view', async () => {
    const talk = await twoTurns()
    let view = deepFreeze(emptyView)
    for (const event of talk.journal.log) view = deepFreeze(reduceEvents(view, event))
    expect(view).toEqual(talk.view())
  })

  it('shows the message being streamed, separate from the transcript', async () => {
    const { journal } = await twoTurns()
    const end = journal.log.findIndex((event) => event.type === 'message-end')
    const view = fold(journal.log.slice(0, end))
    expect(view.messages).toHaveLength(1)
    expect(view.open?.blocks).toEqual([
      { type: 'reasoning', index: 0, text: 'hm', closed: true },
      { type: 'text', index: 1, text: 'let me see', closed: true },
      expect.objectContaining({ type: 'tool-call', index: 2, toolName: 'chatty', inputText: '{"a":1}' }),
      expect.objectContaining({ type: 'tool-call', index: 3, toolCallId: 'r' }),
    ])
    expect(fold(journal.log.slice(0, end + 1)).open).toBeUndefined()
  })

  it('keeps the references of unchanged messages', async () => {
    const { journal } = await twoTurns()
    let view = emptyView
    for (const event of journal.log) {
      const next = reduceEvents(view, event)
      for (const [place, message] of view.messages.entries()) expect(next.messages[place]).toBe(message)
      if (isDelta(event)) expect(next.messages).toBe(view.messages)
      view = next
    }
  })

  it('follows a tool call from the call to its result', async () => {
    const { journal } = await twoTurns()
    const views: RunView[] = []
    journal.log.reduce<RunView>((view, event) => {
      const next = reduceEvents(view, event)
      views.push(next)
      return next
    }, emptyView)
    const id = 'call-1-1'
    const states = views.map((view) => toolCallOf(view, id)?.state).filter((state, place, all) => state !== all[place - 1])
    expect(states).toEqual(['pending', 'running', 'result'])
    const progress = views.map((view) => view.progress[id]).filter((text, place, all) => text !== all[place - 1])
    expect(progress).toEqual(['one ', 'one two', 'three', undefined])
    expect(toolCallOf(views.at(-1) ?? emptyView, id)).toMatchObject({
      label: 'Chat',
      input: { a: 1 },
      attempt: 1,
      durationMs: 0,
      result: { details: { lines: 3 } },
    })
    expect(views.map((view) => toolCallOf(view, 'r')?.state)).toContain('remote')
  })

  it('shows pending work, and that it was answered', async () => {
    const { journal } = await twoTurns()
    const suspended = journal.log.findIndex((event) => event.type === 'turn-end')
    const view = fold(journal.log.slice(0, suspended + 1))
    expect(view).toMatchObject({ phase: 'idle', status: 'waiting-for-user', pendingToolCalls: [{ toolCallId: 'r', toolName: 'far' }] })
    expect(fold(journal.log)).toMatchObject({ phase: 'idle', status: 'completed', turn: 2, step: 1, pendingToolCalls: [], gap: false })
  })

  it('a jump in seq sets the gap', async () => {
    const { journal } = await twoTurns()
    const view = fold(journal.events.filter((event) => event.seq !== 3))
    expect(view.gap).toBe(true)
    expect(fold(journal.events).gap).toBe(false)
  })

  it('logs that differ only in their deltas fold to equal views at every boundary', async () => {
    const { journal } = await twoTurns()
    let full = emptyView
    let bare = emptyView
    for (const event of journal.log) {
      full = reduceEvents(full, event)
      if (isDurable(event)) bare = reduceEvents(bare, event)
      if (isBoundary(event)) expect(full).toEqual(bare)
    }
  })

  it('a withdrawn message leaves the view', () => {
    const base = { at: 0, runId: 'r', turn: 1, step: 1, messageId: 'm' } as const
    const started = fold([{ ...base, type: 'message-start', attempt: 1, model: { provider: 'p', modelId: 'm' }, seq: 1 }])
    expect(started.open?.messageId).toBe('m')
    const view = reduceEvents(started, { ...base, type: 'message-discarded', reason: 'crash', seq: 2 })
    expect(view.open).toBeUndefined()
    expect(view.messages).toEqual([])
  })
})
