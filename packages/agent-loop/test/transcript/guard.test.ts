import type { AssistantMessage, Message, ToolCallPart } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { AgentError, createMemoryJournal, defineAgent } from '../../src/index.ts'
import type { StoredMessage, ToolResult } from '../../src/index.ts'
import { checkTranscript } from '@bowline/testing'
import { earlierMessages } from '../../src/transcript/earlier-messages.ts'
import { TranscriptGuard } from '../../src/transcript/guard.ts'
import { agentOf, conversation, model } from '../support/conversation.ts'

const user = (id: string): StoredMessage => ({ role: 'user', id, content: 'x', at: 0 })
const call = (toolCallId: string, toolName = 't'): ToolCallPart => ({ type: 'tool-call', toolCallId, toolName, input: {} })
const answer = (
  id: string,
  calls: readonly ToolCallPart[],
  stopReason: AssistantMessage['stopReason'] = 'tool-calls',
): AssistantMessage => ({
  role: 'assistant',
  id,
  content: calls,
  provider: 'p',
  modelId: 'm',
  stopReason,
  usage: {},
  at: 0,
  timing: { totalMs: 0 },
})
const result = (id: string, toolCallId: string, fields: Partial<ToolResult> = {}): ToolResult => ({
  role: 'tool-result',
  id,
  toolCallId,
  toolName: 't',
  output: { type: 'text', value: '' },
  at: 0,
  status: 'result',
  index: 0,
  ...fields,
})

const wrong: readonly [string, readonly StoredMessage[], string][] = [
  ['I1: an empty message id', [user('')], 'empty id'],
  ['I1: a repeated message id', [user('a'), user('a')], 'a'],
  ['I1: an empty call id', [answer('a', [call('')])], 'empty id'],
  ['I1: a call id twice in one answer', [answer('a', [call('c'), call('c')])], 'c'],
  ['I1: a call id of an earlier answer', [answer('a', [call('c')]), result('r', 'c'), answer('b', [call('c')])], 'c'],
  ['I2: a second result', [answer('a', [call('c')]), result('r', 'c'), result('s', 'c')], 'repeats'],
  ['I2: a message after an open call', [answer('a', [call('c')]), user('b')], 'c'],
  ['I3: a result without call', [user('a'), result('r', 'c')], 'c'],
  ['I3: a result of another name', [answer('a', [call('c')]), result('r', 'c', { toolName: 'u' })], 'u'],
  ['I4: results out of order', [answer('a', [call('c'), call('d')]), result('r', 'd')], 'd'],
  ['I4: a message between results', [answer('a', [call('c'), call('d')]), result('r', 'c'), answer('b', [])], 'd'],
  ['I4: a message before all results, named together', [answer('a', [call('c'), call('d')]), user('b')], 'b follows the open calls c, d'],
  ['I5: raw arguments of a call that is not marked', [answer('a', [{ ...call('c'), inputText: '{' }])], 'raw'],
  ['I6: a result of a failed answer', [answer('a', [call('c')], 'error'), result('r', 'c')], 'failed'],
  ['I6: a result of a stopped answer', [answer('a', [call('c')], 'aborted'), result('r', 'c')], 'failed'],
  ['I6: a result of a cut answer', [answer('a', [call('c')], 'length'), result('r', 'c')], 'failed'],
]

describe('transcript guard', () => {
  it.each(wrong)('A114: rejects %s', (_name, messages, named) => {
    const guard = new TranscriptGuard()
    for (const message of messages.slice(0, -1)) guard.append(message)
    const last = messages.at(-1)
    expect(() => last && guard.append(last)).toThrow(
      expect.objectContaining({ code: 'invalid-transcript', message: expect.stringContaining(named) }) as Error,
    )
  })

  it.each(wrong)('A12: refuses a given transcript with %s', (_name, messages, named) => {
    const given = [...messages]
    expect(() => defineAgent({ model: model([]) }).run('hi', { messages: given })).toThrow(
      expect.objectContaining({ code: 'invalid-transcript', message: expect.stringContaining(named) }) as Error,
    )
    expect(checkTranscript(given)).not.toEqual([])
  })

  it('A114: a refused message changes nothing', () => {
    const guard = new TranscriptGuard()
    guard.append(answer('a', [call('c')]))
    for (const wrongOne of [user('b'), result('r', 'd'), result('a', 'c'), answer('b', [call('c')])]) {
      expect(() => guard.append(wrongOne)).toThrow(AgentError)
    }
    guard.append(result('r', 'c'))
    guard.append(user('b'))
    expect([guard.openCalls, guard.freeCallId('c'), guard.freeCallId('d'), guard.hasMessage('b')]).toEqual([[], 'c~2', 'd', true])
  })

  it('I1: does not pair calls that the provider ran', () => {
    const guard = new TranscriptGuard()
    guard.append(answer('a', [{ ...call('c'), providerExecuted: true }]))
    guard.append(answer('b', [{ ...call('c'), providerExecuted: true }]))
    expect([guard.openCalls, guard.freeCallId('c')]).toEqual([[], 'c'])
  })

  it('A65: a used call id becomes the first free copy', () => {
    const guard = new TranscriptGuard()
    guard.append(answer('a', [call('c'), call('c~2')]))
    expect(guard.freeCallId('d')).toBe('d')
    expect(guard.freeCallId('c')).toBe('c~3')
    expect(guard.freeCallId('c', (id) => id === 'c~3')).toBe('c~4')
    expect(guard.freeCallId('c')).toBe('c~3')
  })

  it('A170: a hundred thousand calls of one answer get their results in reasonable time', () => {
    const guard = new TranscriptGuard()
    const calls = Array.from({ length: 100_000 }, (_none, place) => call(`c${place}`))
    guard.append(answer('a', calls))
    for (const { toolCallId } of calls) guard.append(result(`r-${toolCallId}`, toolCallId))
    expect(guard.openCalls).toEqual([])
  })

  it.each<[string, unknown, string]>([
    ['no list', { role: 'user' }, 'list'],
    ['an entry that is no message', ['hi'], 'at 0'],
    ['a hole', [, user('a')], 'at 0'], // oxlint-disable-line no-sparse-arrays
    ['an unknown role', [{ role: 'system', id: 's', content: 'x' }], 's'],
    ['an id that is a number', [{ role: 'user', id: 7, content: 'x' }], 'id'],
    ['a user message without content', [{ role: 'user', id: 'u' }], 'u'],
    ['an answer that is a text', [{ ...answer('a', []), content: 'hi' }], 'a'],
    ['an answer with an unknown part', [{ ...answer('a', []), content: [{ type: 'hologram' }] }], 'a'],
    ['an answer that never stopped', [{ ...answer('a', []), stopReason: undefined }], 'stopReason'],
    ['a result without output', [answer('a', [call('c')]), { ...result('r', 'c'), output: 'x' }], 'r'],
    ['a result without call id', [answer('a', [call('c')]), { ...result('r', 'c'), toolCallId: undefined }], 'r'],
    ['two open calls at its end', [answer('a', [call('c'), call('d')])], 'c, d'],
  ])('A12: earlierMessages refuses %s', (_what, given, named) => {
    expect(() => earlierMessages(given as never)).toThrow(
      expect.objectContaining({ code: 'invalid-transcript', message: expect.stringContaining(named) }) as Error,
    )
  })

  it('A12: missing ids are filled in beside existing ones', () => {
    const stored = earlierMessages([
      { role: 'user', content: 'x' },
      user('earlier_1'),
      answer('a', [call('c')], 'aborted'),
      { role: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'text', value: '' } },
    ])
    expect(stored.map(({ id }) => id)).toEqual(['earlier_1~2', 'earlier_1', 'a', 'earlier_4'])
    expect(stored.at(-1)).toMatchObject({ at: 0, status: 'cancelled', index: 0 })
  })

  it('A12: refuses a transcript with an open call at its end, and a live object', () => {
    expect(() => createMemoryJournal({ messages: [answer('a', [call('c')])] })).toThrow('c')
    const live = [{ ...user('a'), when: new Date(0) }] as unknown as Message[]
    expect(() => createMemoryJournal({ messages: live })).toThrow(AgentError)
  })

  it('A12: a run continues from a valid transcript', async () => {
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
    const broken = { messages: [answer('a', [call('c')])], seq: 3, turns: 1, segments: 1, answered: [], children: {} }
    const journal = createMemoryJournal({ snapshot: structuredClone(broken) as never })
    const outcome = await defineAgent({ model: model([]) })
      .run('hi', { journal })
      .result()
    expect(outcome).toMatchObject({ status: 'error', reason: 'refused', error: { code: 'invalid-transcript' } })
    expect(journal.snapshot()).toMatchObject({ seq: 3, turns: 1 })
  })

  it('A114: refuses an input whose id is already used', async () => {
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
