import type { AssistantMessage, Message, ToolCallPart } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { AgentError, createMemoryJournal, defineAgent } from '../../src/index.ts'
import type { StoredMessage, ToolResult } from '../../src/index.ts'
import { checkTranscript } from '../../src/testing/index.ts'
import { TranscriptGuard } from '../../src/transcript/guard.ts'
import { agentOf, conversation, model } from '../support/conversation.ts'

const user = (id: string): StoredMessage => ({ role: 'user', id, content: 'x', at: 0 })
const call = (toolCallId: string, toolName = 't'): ToolCallPart => ({ type: 'tool-call', toolCallId, toolName, input: {} })
const answer = (id: string, calls: readonly ToolCallPart[], stopReason: AssistantMessage['stopReason'] = 'tool-calls'): AssistantMessage => ({
  ...{ role: 'assistant', id, content: calls, provider: 'p', modelId: 'm', stopReason, usage: {}, at: 0, timing: { totalMs: 0 } },
})
const result = (id: string, toolCallId: string, fields: Partial<ToolResult> = {}): ToolResult => ({
  ...{ role: 'tool-result', id, toolCallId, toolName: 't', output: { type: 'text', value: '' }, at: 0, status: 'result', index: 0 },
  ...fields,
})

const wrong: readonly [string, readonly StoredMessage[], string][] = [
  ['I1: an empty message id', [user('')], 'empty id'],
  ['I1: a repeated message id', [user('a'), user('a')], 'a'],
  ['I1: an empty call id', [answer('a', [call('')])], 'empty id'],
  ['I1: a call id twice in one answer', [answer('a', [call('c'), call('c')])], 'c'],
  ['I1: a call id of an earlier answer', [answer('a', [call('c')]), result('r', 'c'), answer('b', [call('c')])], 'c'],
  ['I2: a second result', [answer('a', [call('c')]), result('r', 'c'), result('s', 'c')], 'second'],
  ['I2: a message after an open call', [answer('a', [call('c')]), user('b')], 'c'],
  ['I3: a result without call', [user('a'), result('r', 'c')], 'c'],
  ['I3: a result of another name', [answer('a', [call('c')]), result('r', 'c', { toolName: 'u' })], 'u'],
  ['I4: results out of order', [answer('a', [call('c'), call('d')]), result('r', 'd')], 'd'],
  ['I6: a result of a cut answer', [answer('a', [call('c')], 'length'), result('r', 'c')], 'broken'],
]

describe('transcript guard', () => {
  it.each(wrong)('A114: %s is stopped', (_name, messages, named) => {
    const guard = new TranscriptGuard()
    for (const message of messages.slice(0, -1)) guard.append(message)
    const last = messages.at(-1)
    expect(() => last && guard.append(last)).toThrow(expect.objectContaining({ code: 'invalid-transcript', message: expect.stringContaining(named) }) as Error)
  })

  it.each(wrong)('A12: a given transcript with %s is refused', (_name, messages, named) => {
    const given = [...messages]
    expect(() => defineAgent({ model: model([]) }).run('hi', { messages: given })).toThrow(
      expect.objectContaining({ code: 'invalid-transcript', message: expect.stringContaining(named) }) as Error,
    )
    expect(checkTranscript(given)).not.toEqual([])
  })

  it('A12: a transcript with an open call at its end, or a live object, is refused', () => {
    expect(() => createMemoryJournal({ messages: [answer('a', [call('c')])] })).toThrow('c')
    const live = [{ ...user('a'), when: new Date(0) }] as unknown as Message[]
    expect(() => createMemoryJournal({ messages: live })).toThrow(AgentError)
  })

  it('A12: a right transcript is gone on with', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'before' },
      answer('a', [call('c')]),
      { role: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'text', value: 'y' } },
    ]
    const talk = conversation({ messages })
    const agent = agentOf([{ text: 'ok' }])
    await talk.play(agent, 'hi')
    expect(agent.model.calls[0]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect((await talk.memory.load()).messages).toHaveLength(5)
  })

  it('A114: a journal whose transcript is broken ends the run as error, and nothing is stored', async () => {
    const broken = { messages: [answer('a', [call('c')])], seq: 3, turns: 1, segments: 1 }
    const journal = createMemoryJournal({ snapshot: structuredClone(broken) as never })
    const outcome = await defineAgent({ model: model([]) }).run('hi', { journal }).result()
    expect(outcome).toMatchObject({ status: 'error', reason: 'refused', error: { code: 'invalid-transcript' } })
    expect(journal.snapshot()).toMatchObject({ seq: 3, turns: 1 })
  })

  it('A114: an input whose id is taken is refused', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'a' }]), { role: 'user', id: 'mine', content: 'x' })
    const { result: outcome } = await talk.play(agentOf([]), { role: 'user', id: 'mine', content: 'y' })
    expect(outcome).toMatchObject({ status: 'error', reason: 'refused', error: { code: 'invalid-transcript' } })
  })

  it('A13: stored messages are deeply frozen', async () => {
    const { result: outcome } = await conversation().play(agentOf([{ text: 'ok' }]), ['a', 'b'])
    const deep = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(deep))
    expect(outcome.messages).toHaveLength(2)
    expect(outcome.messages.every(deep)).toBe(true)
  })
})
