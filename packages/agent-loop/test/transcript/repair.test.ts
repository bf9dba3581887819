import type { AssistantMessage, Message, ToolCallPart, ToolResultMessage } from '@bowline/llm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { deepFreeze } from '../../src/base/json.ts'
import { checkTranscript } from '@bowline/testing'
import { earlierMessages } from '../../src/transcript/earlier-messages.ts'
import { repairTranscript } from '../../src/transcript/repair.ts'
import type { TranscriptRepair } from '../../src/transcript/repair.ts'

const user = (id: string): Message => ({ role: 'user', id, content: 'x' })
const call = (toolCallId: string, fields: Partial<ToolCallPart> = {}): ToolCallPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 't',
  input: {},
  ...fields,
})
const answer = (id: string, calls: readonly ToolCallPart[], fields: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  id,
  content: calls,
  provider: 'p',
  modelId: 'm',
  stopReason: 'tool-calls',
  usage: {},
  at: 7,
  timing: { totalMs: 0 },
  ...fields,
})
const result = (id: string, toolCallId: string, fields: object = {}): ToolResultMessage => ({
  role: 'tool-result',
  id,
  toolCallId,
  toolName: 't',
  output: { type: 'text', value: toolCallId },
  ...fields,
})
const unknown = 'may or may not have happened: the transcript holds no result'

const cases: readonly (readonly [string, readonly unknown[], readonly Message[], readonly TranscriptRepair[]])[] = [
  [
    'a missing message id',
    [{ role: 'user', content: 'x' }, user('earlier_1')],
    [user('earlier_1~2'), user('earlier_1')],
    [{ code: 'message-id', messageIndex: 0 }],
  ],
  [
    'a repeated message id',
    [user('a'), user('a'), user('a~2'), user('')],
    [user('a'), user('a~3'), user('a~2'), user('earlier_4')],
    [
      { code: 'message-id', messageIndex: 1 },
      { code: 'message-id', messageIndex: 3 },
    ],
  ],
  [
    'a repeated call id, whose result goes along',
    [answer('a', [call('c')]), result('r', 'c'), answer('b', [call('c')]), result('s', 'c')],
    [answer('a', [call('c')]), result('r', 'c'), answer('b', [call('c~2')]), result('s', 'c~2', { output: { type: 'text', value: 'c' } })],
    [{ code: 'call-id', messageIndex: 2, toolCallId: 'c~2' }],
  ],
  [
    'two calls of one id in one answer',
    [answer('a', [call('c'), call('c')]), result('r', 'c', { at: 1 }), result('s', 'c', { at: 2 })],
    [
      answer('a', [call('c'), call('c~2')]),
      result('r', 'c', { at: 1 }),
      result('s', 'c~2', { at: 2, output: { type: 'text', value: 'c' } }),
    ],
    [{ code: 'call-id', messageIndex: 0, toolCallId: 'c~2' }],
  ],
  [
    'an empty call id',
    [answer('a', [call('')]), result('r', '')],
    [answer('a', [call('call_1')]), result('r', 'call_1', { output: { type: 'text', value: '' } })],
    [{ code: 'call-id', messageIndex: 0, toolCallId: 'call_1' }],
  ],
  [
    'a missing result: nobody knows what became of the call',
    [answer('a', [call('c')]), user('b')],
    [
      answer('a', [call('c')]),
      result('result_c', 'c', { output: { type: 'error-text', value: unknown }, status: 'unknown', index: 0, at: 7 }),
      user('b'),
    ],
    [{ code: 'missing-result', messageIndex: 0, toolCallId: 'c' }],
  ],
  [
    'a missing result of a broken answer: the call has not run',
    [answer('a', [call('c')], { stopReason: 'aborted' })],
    [
      answer('a', [call('c')], { stopReason: 'aborted' }),
      result('result_c', 'c', {
        output: { type: 'error-text', value: 'not run: the answer was cut off' },
        status: 'cancelled',
        index: 0,
        at: 7,
      }),
    ],
    [{ code: 'missing-result', messageIndex: 0, toolCallId: 'c' }],
  ],
  [
    'a missing result of an invalid call: it has not run',
    [answer('a', [call('c', { invalid: 'not-json', inputText: '{' })])],
    [
      answer('a', [call('c', { invalid: 'not-json', inputText: '{' })]),
      result('result_c', 'c', {
        output: { type: 'error-text', value: 'not run: the arguments are not valid' },
        status: 'error',
        index: 0,
        at: 7,
      }),
    ],
    [{ code: 'missing-result', messageIndex: 0, toolCallId: 'c' }],
  ],
  [
    'a result without call, and a second result',
    [result('q', 'c'), answer('a', [call('c')]), result('r', 'c'), result('s', 'c'), result('t', 'd')],
    [answer('a', [call('c')]), result('r', 'c')],
    [
      { code: 'orphan-result', messageIndex: 0, toolCallId: 'c' },
      { code: 'duplicate-result', messageIndex: 3, toolCallId: 'c' },
      { code: 'orphan-result', messageIndex: 4, toolCallId: 'd' },
    ],
  ],
  [
    'a result of a call that the provider ran',
    [answer('a', [call('c', { providerExecuted: true })]), result('r', 'c')],
    [answer('a', [call('c', { providerExecuted: true })])],
    [{ code: 'orphan-result', messageIndex: 1, toolCallId: 'c' }],
  ],
  [
    'results out of order, and one behind another message',
    [answer('a', [call('c'), call('d'), call('e')]), result('s', 'd'), result('r', 'c'), user('b'), result('t', 'e')],
    [answer('a', [call('c'), call('d'), call('e')]), result('r', 'c'), result('s', 'd'), result('t', 'e'), user('b')],
    [
      { code: 'moved-result', messageIndex: 2, toolCallId: 'c' },
      { code: 'moved-result', messageIndex: 4, toolCallId: 'e' },
    ],
  ],
  [
    'a wrong name and a wrong place',
    [answer('a', [call('c')]), result('r', 'c', { toolName: 'u', index: 4 })],
    [answer('a', [call('c')]), result('r', 'c', { index: 0 })],
    [
      { code: 'tool-name', messageIndex: 1, toolCallId: 'c' },
      { code: 'field', messageIndex: 1, toolCallId: 'c' },
    ],
  ],
  [
    'a result of a broken answer',
    [answer('a', [call('c')], { stopReason: 'length' }), result('r', 'c', { status: 'result' })],
    [answer('a', [call('c')], { stopReason: 'length' }), result('r', 'c', { status: 'cancelled' })],
    [{ code: 'status', messageIndex: 1, toolCallId: 'c' }],
  ],
  [
    'raw arguments beside good ones',
    [answer('a', [call('c', { inputText: '{}' })]), result('r', 'c')],
    [answer('a', [call('c')]), result('r', 'c')],
    [{ code: 'field', messageIndex: 0 }],
  ],
  [
    'what is no JSON',
    [
      { ...user('a'), when: new Date(0) },
      answer('b', [call('c', { input: (() => 1) as never })]),
      result('r', 'c'),
      { ...user('d'), content: [{ type: 'text', text: 'x' }, () => 1] },
    ],
    [user('a'), answer('b', []), { role: 'user', id: 'd', content: [{ type: 'text', text: 'x' }] }],
    [
      { code: 'field', messageIndex: 0 },
      { code: 'dropped-part', messageIndex: 1 },
      { code: 'orphan-result', messageIndex: 2, toolCallId: 'c' },
      { code: 'dropped-part', messageIndex: 3 },
    ],
  ],
  [
    'what is no message',
    [null, 'hi', { role: 'system', content: 'x' }, { role: 'user' }, user('a'), { role: 'tool-result', toolCallId: 'c', toolName: 't' }],
    [user('a')],
    [0, 1, 2, 3, 5].map((messageIndex) => ({ code: 'dropped-message', messageIndex })),
  ],
  [
    'an answer that is a text, with nothing but its role',
    [{ role: 'assistant', id: 'a', content: 'hi' }],
    [answer('a', [], { content: [{ type: 'text', text: 'hi' }], provider: 'unknown', modelId: 'unknown', stopReason: 'stop', at: 0 })],
    Array.from({ length: 7 }, () => ({ code: 'field', messageIndex: 0 })),
  ],
]

function accepted(messages: readonly Message[]): void {
  expect(earlierMessages(messages)).toHaveLength(messages.length)
  expect(checkTranscript(messages)).toEqual([])
}

describe('repairTranscript', () => {
  it.each(cases)('A12: repairs %s, and leaves the given list unchanged', (_name, given, messages, repairs) => {
    const repaired = repairTranscript(deepFreeze(given) as readonly Message[])
    expect(repaired).toEqual({ messages, repairs })
    accepted(repaired.messages)
  })

  it('A12: repairs any list to an accepted transcript, and a second repair changes nothing', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 12 }), (given) => {
        const { messages } = repairTranscript(given as readonly Message[])
        accepted(messages)
        expect(repairTranscript(messages)).toEqual({ messages, repairs: [] })
      }),
      randomRuns(1_000),
    )
  })

  it('A12: returns a valid transcript unchanged, also in its stored form', () => {
    const right = [
      user('a'),
      answer('b', [call('c'), call('d')]),
      result('r', 'c'),
      result('s', 'd', { status: 'denied', index: 1, at: 3, details: { n: 1 } }),
      user('e'),
    ]
    expect(repairTranscript(right)).toEqual({ messages: right, repairs: [] })
    const stored = [...earlierMessages(right)]
    expect(repairTranscript(stored)).toEqual({ messages: stored, repairs: [] })
    expect(JSON.stringify(earlierMessages(stored))).toBe(JSON.stringify(stored))
  })

  it('A12: ten thousand calls with one id cost no search', () => {
    const calls = Array.from({ length: 10_000 }, () => call('c'))
    const { messages, repairs } = repairTranscript([answer('a', calls), ...calls.map((_call, place) => result(`r${place}`, 'c'))])
    expect([messages.length, repairs.length]).toEqual([10_001, 9_999])
    expect(messages.at(-1)).toMatchObject({ toolCallId: 'c~10000', id: 'r9999' })
  })
})

// Only a few ids, so that some are missing, repeated or mixed up.
const id = fc.constantFrom('a', 'b', 'a~2', 'earlier_2', 'result_a', '', undefined)
const part = fc.oneof(
  fc.record(
    {
      type: fc.constant('tool-call'),
      toolCallId: id,
      toolName: fc.constantFrom('t', 'u'),
      input: fc.jsonValue(),
      providerExecuted: fc.constant(true),
    },
    { requiredKeys: ['type', 'toolCallId', 'toolName', 'input'] },
  ),
  fc.record(
    {
      type: fc.constant('tool-call'),
      toolCallId: id,
      toolName: fc.constant('t'),
      input: fc.constant({}),
      invalid: fc.constant('truncated'),
      inputText: fc.constant('{'),
    },
    { requiredKeys: ['type', 'toolCallId', 'toolName', 'input'] },
  ),
  fc.record({ type: fc.constantFrom('text', 'reasoning', 'source', 'hologram'), text: fc.string() }),
  fc.anything(),
)
const entry: fc.Arbitrary<unknown> = fc.oneof(
  fc.record(
    { role: fc.constant('user'), id, content: fc.oneof(fc.string(), fc.array(part, { maxLength: 2 })), at: fc.anything() },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record(
    {
      role: fc.constant('assistant'),
      id,
      content: fc.oneof(fc.array(part, { maxLength: 4 }), fc.string()),
      stopReason: fc.constantFrom('stop', 'tool-calls', 'length', 'error', 'aborted', 'nap'),
      usage: fc.anything(),
      at: fc.integer(),
    },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record(
    {
      role: fc.constant('tool-result'),
      id,
      toolCallId: id,
      toolName: fc.constantFrom('t', 'u', 7),
      status: fc.constantFrom('result', 'error', 'late'),
      index: fc.constantFrom(0, 1, 'x'),
      output: fc.oneof(
        fc.constant({ type: 'text', value: 'x' }),
        fc.record({ type: fc.constantFrom('json', 'content', 'error-text'), value: fc.anything() }),
      ),
    },
    { requiredKeys: ['role', 'toolCallId', 'toolName', 'output'] },
  ),
  fc.anything(),
)
