import type { AgentEvent } from '@bowline/agent-loop'
import type { AssistantPart } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import type { UIMessageChunk } from 'ai'
import { expect, it } from 'vitest'
import { endingChunk } from '../../src/chat/ending-chunks.ts'
import type { UiChunk } from '../../src/chat/ui-chunk.ts'
import { chunkTypes, chunksOf, framesSent, messageOf } from '../support/chat.ts'

/** The compiler checks that all sent chunks are known to the AI SDK. */
const known: (chunk: UiChunk) => UIMessageChunk = (chunk) => chunk

const base = { at: 0, runId: 'r1', turn: 1, step: 1 }
const model = { provider: 'p', modelId: 'm' }
const usage = { inputTokens: 1, outputTokens: 2 }
const block = { ...base, messageId: 'm1' }

type Fields = { readonly type: AgentEvent['type'] } & Readonly<Record<string, unknown>>

/** Creates a log: durable events get numbers, and deltas count on from them. */
function log(...events: readonly Fields[]): LoggedEvent[] {
  let [seq, n] = [0, 0]
  return events.map((event) => {
    const isDelta = /-delta$|^(text|reasoning|tool-call)-|^content-part$/.test(event.type)
    if (isDelta) n++
    else [seq, n] = [seq + 1, 0]
    return { ...base, ...event, ...(!isDelta && { seq }), cursor: n === 0 ? `${seq}` : `${seq}.${n}` } as unknown as LoggedEvent
  })
}

const framesOf = (events: readonly LoggedEvent[], knownUntil?: number) =>
  framesSent(events, { sessionId: 's', runId: 'r1', ...(knownUntil !== undefined && { knownUntil }) })

const chunks = async (...events: readonly Fields[]) => chunksOf(await framesOf(log(...events)))
const turnStart = { type: 'turn-start', resumed: false, attempt: 1 } as const
const stepStart = { type: 'step-start', contextTokens: 1, model } as const
const messageStart = { type: 'message-start', messageId: 'm1', attempt: 1, model } as const
const begin = [turnStart, stepStart, messageStart]
const messageEnd = (...content: readonly AssistantPart[]) =>
  ({ type: 'message-end', messageId: 'm1', attempt: 1, message: { role: 'assistant', id: 'm1', content } }) as const
const turnEnd = (status: string, more: object = {}) =>
  ({ type: 'turn-end', status, reason: 'stop', usage, steps: 1, overlaysExpired: 0, ...more }) as const
const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'sea' } } as const
const callEnd = { type: 'tool-call-end', index: 0, messageId: 'm1', toolCallId: 'c1', toolCall: call } as const
const callStart = { type: 'tool-call-start', index: 0, messageId: 'm1', toolCallId: 'c1', toolName: 'look' } as const
const executed = (status: string, output: object) =>
  ({
    type: 'tool-execution-end',
    toolCallId: 'c1',
    executed: 'here',
    durationMs: 1,
    message: { role: 'tool-result', toolCallId: 'c1', status, output },
  }) as const

it('V48: a turn of text becomes start, its steps with their parts, and finish; every frame has the cursor of its event', async () => {
  const frames = await framesOf(
    log(
      ...([...begin, { ...block, type: 'text-start', index: 0 }, { ...block, type: 'text-delta', index: 0, delta: 'Hi' }] as const),
      ...([
        { ...block, type: 'text-end', index: 0, text: 'Hi' },
        messageEnd({ type: 'text', text: 'Hi' }),
        { type: 'step-end' },
        turnEnd('completed'),
        { type: 'save-point' },
      ] as const),
    ),
  )
  expect(frames.map(({ id, data }) => [id, typeof data === 'string' ? data : data.type])).toEqual([
    ['1', 'start'],
    ['2', 'start-step'],
    ['3.1', 'text-start'],
    ['3.2', 'text-delta'],
    ['3.3', 'text-end'],
    ['5', 'finish-step'],
    ['6', 'data-usage'],
    ['7', 'finish'],
    ['7', '[DONE]'],
  ])
  expect(chunksOf(frames)[0]).toEqual(known({ type: 'start', messageId: 'r1', messageMetadata: { sessionId: 's', runId: 'r1' } }))
  expect(chunksOf(frames)[2]).toEqual({ type: 'text-start', id: 'm1.0' })
})

it('V48: a reader that has seen half of a part gets the rest of it from the whole message', async () => {
  const sent = await chunks(
    ...begin,
    { ...block, type: 'text-start', index: 0 },
    { ...block, type: 'text-delta', index: 0, delta: 'Hel' },
    messageEnd({ type: 'text', text: 'Hello.' }, call),
    turnEnd('awaiting-tools'),
  )
  expect(sent.filter(({ type }) => type.startsWith('text') || type.startsWith('tool'))).toEqual([
    { type: 'text-start', id: 'm1.0' },
    { type: 'text-delta', id: 'm1.0', delta: 'Hel' },
    { type: 'text-delta', id: 'm1.0', delta: 'lo.' },
    { type: 'text-end', id: 'm1.0' },
    { type: 'tool-input-start', toolCallId: 'c1', toolName: 'look' },
    { type: 'tool-input-available', toolCallId: 'c1', toolName: 'look', input: { at: 'sea' } },
  ])
})

it('V48: deltas without their message, and events of a later version, give no chunk', async () => {
  const stray = { ...block, messageId: 'm0', index: 0 }
  const later = { type: 'brand-new' } as unknown as Fields
  const sent = await chunks(
    turnStart,
    { ...stray, type: 'text-delta', delta: 'x' },
    later,
    { type: 'toString' } as unknown as Fields,
    turnEnd('completed'),
  )
  expect(sent.map(({ type }) => type)).toEqual(['start', 'data-usage', 'finish'])
})

it('V48: a withdrawn attempt takes its step back', async () => {
  const retry = {
    type: 'retry-start',
    attempt: 2,
    maxAttempts: 3,
    delayMs: 0,
    notBefore: 0,
    cause: 'error',
    error: { kind: 'overloaded' },
  } as const
  const sent = await chunks(
    ...([...begin, { ...block, type: 'text-start', index: 0 }, { ...block, type: 'text-delta', index: 0, delta: 'wrong' }] as const),
    ...([{ type: 'message-discarded', messageId: 'm1', reason: 'retry' }, retry, { ...messageStart, messageId: 'm2' }] as const),
    ...([{ ...messageEnd({ type: 'text', text: 'right' }), messageId: 'm2' }, { type: 'step-end' }, turnEnd('completed')] as const),
  )
  expect(sent.map(({ type }) => type)).toContain('reset-step')
  const message = await messageOf(sent)
  expect(message.parts.map(({ type }) => type)).toEqual(['step-start', 'data-retry-start', 'text', 'data-usage'])
  expect(JSON.stringify(message)).not.toContain('wrong')
})

it('V48: events that a message cannot take back are sent as data', async () => {
  const sent = await chunks(
    ...([
      ...begin,
      messageEnd({ type: 'text', text: 'old' }),
      { type: 'step-end' },
      stepStart,
      { ...messageStart, messageId: 'm2' },
    ] as const),
    ...([
      { type: 'message-discarded', messageId: 'm2', reason: 'retry' },
      { type: 'message-discarded', messageId: 'm1', reason: 'rewind' },
    ] as const),
    ...([
      { type: 'message-discarded', messageId: 'u1', reason: 'failed' },
      turnEnd('error', { reason: 'model-error', error: { kind: 'overloaded' } }),
    ] as const),
  )
  expect(sent.filter(({ type }) => type === 'data-message-discarded')).toMatchObject([{ data: { messageId: 'm1', reason: 'rewind' } }])
})

it.each([
  ['result', { type: 'text', value: 'seen' }, { type: 'tool-output-available', output: 'seen' }],
  ['result', { type: 'json', value: { a: 1 } }, { type: 'tool-output-available', output: { a: 1 } }],
  ['error', { type: 'error-text', value: 'broken' }, { type: 'tool-output-error', errorText: 'broken' }],
  ['error', { type: 'error-json', value: { code: 1 } }, { type: 'tool-output-error', errorText: '{"code":1}' }],
  ['denied', { type: 'execution-denied', reason: 'a rule' }, { type: 'tool-output-error', errorText: 'a rule' }],
  ['cancelled', { type: 'error-text', value: 'not run: stopped' }, { type: 'tool-output-error', errorText: 'not run: stopped' }],
  ['unknown', { type: 'error-text', value: 'who knows' }, { type: 'tool-output-error', errorText: 'who knows' }],
])('V48: a call that ends as %s with %o', async (status, output, chunk) => {
  const sent = await chunks(...begin, callStart, callEnd, executed(status, output), turnEnd('completed'))
  expect(sent).toContainEqual({ ...chunk, toolCallId: 'c1' })
  await messageOf(sent)
})

it('V48: a denied call is marked as denied, with the question and its answer', async () => {
  const question = {
    type: 'approval-requested',
    toolCallId: 'c1',
    approvalId: 'a1',
    toolName: 'look',
    input: {},
    inputHash: 'h',
    path: [],
    reason: 'costly',
  } as const
  const decision = { type: 'approval-resolved', toolCallId: 'c1', approvalId: 'a1', decision: 'deny', reason: 'no' } as const
  const sent = await chunks(
    ...begin,
    callStart,
    callEnd,
    question,
    decision,
    executed('denied', { type: 'execution-denied', reason: 'no' }),
    turnEnd('completed'),
  )
  expect(sent.slice(4, 7)).toEqual([
    { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a1', reason: 'costly' },
    { type: 'tool-approval-response', approvalId: 'a1', approved: false, reason: 'no' },
    { type: 'tool-output-denied', toolCallId: 'c1' },
  ])
  expect((await messageOf(sent)).parts[1]).toMatchObject({ state: 'output-denied', approval: { id: 'a1', approved: false, reason: 'no' } })
})

it('V48: a question of a subagent is sent as data: the message has no part for its calls', async () => {
  const question = {
    type: 'approval-requested',
    toolCallId: 'x9',
    approvalId: 'a9',
    toolName: 'erase',
    input: {},
    inputHash: 'h',
    path: ['c1'],
  } as const
  const decision = { type: 'approval-resolved', toolCallId: 'x9', approvalId: 'a9', decision: 'approve' } as const
  const waiting = {
    type: 'awaiting-tools',
    pendingToolCalls: [{ toolCallId: 'x8', toolName: 'place', input: {}, path: ['c1'], agent: ['sub'] }],
  } as const
  const sent = await chunks(...begin, callStart, callEnd, question, decision, waiting, turnEnd('awaiting-tools'))
  expect(sent.map(({ type }) => type).slice(4)).toEqual([
    'data-approval-requested',
    'data-approval-resolved',
    'data-awaiting-tools',
    'data-usage',
    'finish',
  ])
  await messageOf(sent)
})

it('V48: a held run of a subagent is sent as data, with what a decision needs; other faults beside the turn are not sent', async () => {
  const fault = {
    type: 'error',
    source: 'definition',
    runId: 'k1',
    path: ['c1'],
    agent: ['mid', 'leaf'],
    message: 'Changed.',
    fatal: false,
  } as const
  const sent = await chunks(...begin, fault, { ...fault, source: 'tool', message: 'Broken.' }, turnEnd('completed'))
  expect(sent.slice(2, 4)).toMatchObject([
    { type: 'data-held-run', id: 'k1', data: { runId: 'k1', agent: ['mid', 'leaf'], message: 'Changed.' } },
    { type: 'data-usage' },
  ])
})

it('V52: a turn that waits for a held run, and for the page too, ends as a turn that waits for the page', () => {
  const heldRuns = [{ runId: 'k1', agent: ['leaf'], message: 'Changed.' }]
  expect(endingChunk({ status: 'awaiting-subagent', heldRuns, pendingToolCalls: [], pendingApprovals: [] })).toMatchObject({
    type: 'error',
  })
  const pendingToolCalls = [{ toolCallId: 'c', toolName: 'place', input: {}, path: [], agent: [] }]
  expect(endingChunk({ status: 'awaiting-tools', heldRuns, pendingToolCalls, pendingApprovals: [] })).toEqual({
    type: 'finish',
    finishReason: 'tool-calls',
  })
})

it('V48: progress of a tool is transient, and only the delta is sent', async () => {
  const sent = await chunks(
    ...begin,
    callStart,
    callEnd,
    { type: 'tool-execution-delta', toolCallId: 'c1', delta: 'half' },
    turnEnd('completed'),
  )
  expect(sent).toContainEqual({ type: 'data-tool-progress', transient: true, data: { toolCallId: 'c1', delta: 'half' } })
})

it('V48: the data of an event replaces that of the same child, and contains no numbers of the log', async () => {
  const child = { toolCallId: 'c1', childRunId: 'k1', toolNames: [] }
  const sent = await chunks(
    ...begin,
    callStart,
    callEnd,
    { ...child, type: 'child-update', step: 1, status: 'running' },
    { ...child, type: 'child-update', step: 2, status: 'completed' },
    turnEnd('completed'),
  )
  expect(sent).toContainEqual({ type: 'data-child-update', id: 'k1', data: { at: 0, ...child, step: 2, status: 'completed' } })
  expect((await messageOf(sent)).parts.filter(({ type }) => type === 'data-child-update')).toHaveLength(1)
})

it.each([
  ['completed', { reason: 'stop' }, ['data-usage', 'finish'], { finishReason: 'stop' }],
  ['completed', { reason: 'length' }, ['data-usage', 'finish'], { finishReason: 'length' }],
  ['limit', { reason: 'max-steps' }, ['data-usage', 'finish'], { finishReason: 'other' }],
  ['limit', { reason: 'output-length' }, ['data-usage', 'finish'], { finishReason: 'length' }],
  ['awaiting-tools', { reason: 'pending' }, ['data-usage', 'finish'], { finishReason: 'tool-calls' }],
  ['awaiting-approval', { reason: 'pending' }, ['data-usage', 'finish'], { finishReason: 'tool-calls' }],
  ['aborted', { reason: 'abort', receipt: [] }, ['data-usage', 'data-stopped', 'abort'], {}],
  [
    'error',
    { reason: 'model-error', error: { kind: 'rate-limit' } },
    ['data-usage', 'data-error', 'error'],
    { errorText: expect.stringContaining('in a moment') as string },
  ],
  ['halted', { reason: 'guardrail' }, ['data-usage', 'data-error', 'error'], { errorText: expect.stringContaining('rule') as string }],
  [
    'needs-recovery',
    { reason: 'unknown-outcome' },
    ['data-usage', 'data-error', 'error'],
    { errorText: expect.stringContaining('An operator') as string },
  ],
])('V48: a turn that ends as %s %o', async (status, more, types, last) => {
  const frames = await framesOf(log(turnStart, turnEnd(status, more)))
  expect(chunkTypes(frames)).toEqual(['start', ...types, '[DONE]'])
  expect(chunksOf(frames).at(-1)).toMatchObject(last)
})

const queued = { type: 'run-queued', kind: 'user', input: { role: 'user', content: 'hi' } } as const
const input = { type: 'user-message', messageId: 'u1' } as const
const takenBack = { type: 'message-discarded', messageId: 'u1', reason: 'failed' } as const

it.each<readonly [string, readonly Fields[], boolean]>([
  ['was stopped before its turn began', [queued, turnEnd('aborted', { turn: 0 })], true],
  ['failed before its turn began', [queued, turnEnd('error', { turn: 0 })], true],
  ['was taken back by a failed turn', [queued, turnStart, input, takenBack, turnEnd('error')], true],
  ['was stopped later', [queued, turnStart, input, turnEnd('aborted')], false],
  [
    'was replaced by a hook',
    [queued, turnStart, input, { ...takenBack, reason: 'replaced' }, { ...input, messageId: 'u2' }, turnEnd('error')],
    false,
  ],
  ['was handled by a hook', [queued, turnStart, turnEnd('completed', { reason: 'handled' })], false],
  ['nobody sent', [{ ...queued, kind: 'notification', input: null }, turnEnd('aborted', { turn: 0 })], false],
])('V102: decides whether a message is withdrawn: one that %s', async (_what, events, isWithdrawn) => {
  const sent = await chunks(...events)
  expect(sent.filter(({ type }) => type === 'data-withdrawn')).toEqual(
    isWithdrawn ? [{ type: 'data-withdrawn', data: { runId: 'r1' } }] : [],
  )
})

it('V48: a resumed stream does not send a message again that it continues, and a resumed turn is not finished in between', async () => {
  const events = log(
    ...begin,
    callStart,
    callEnd,
    messageEnd(call),
    turnEnd('awaiting-tools'),
    { ...turnStart, resumed: true },
    executed('result', { type: 'text', value: 'seen' }),
    turnEnd('completed'),
  )
  expect(chunkTypes(await framesOf(events, 5))).toEqual([
    'start',
    'tool-output-available',
    'start-step',
    'finish-step',
    'data-usage',
    'finish',
    '[DONE]',
  ])
  const all = chunkTypes(await framesOf(events))
  expect([all.filter((type) => type === 'start'), all.filter((type) => type === 'finish')]).toEqual([['start'], ['finish']])
})

it('V90: an error sent to a page contains no key', async () => {
  const key = `sk-${'a1B2c3D4'.repeat(4)}`
  const error = { kind: 'auth', retryable: false, phase: 'before-output', message: `no such key: ${key}` }
  const sent = JSON.stringify(await chunks(turnStart, turnEnd('error', { reason: 'model-error', error })))
  expect(sent).toContain('no such key')
  expect(sent).not.toContain(key)
})
