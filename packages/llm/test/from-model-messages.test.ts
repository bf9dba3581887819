import { generateText } from 'ai'
import type { ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, it } from 'vitest'
import { fromModelMessages, toPrompt } from '../src/index.ts'
import type { Message } from '../src/index.ts'

const target = { provider: 'mock-provider', modelId: 'mock-model-id' }
const call = (toolCallId: string) => ({ type: 'tool-call' as const, toolCallId, toolName: 'look', input: { at: toolCallId } })
const result = (toolCallId: string, value: string) => ({
  type: 'tool-result' as const,
  toolCallId,
  toolName: 'look',
  output: { type: 'text' as const, value },
})

/** Returns the prompt that the AI SDK makes from these messages. */
async function promptOfSdk(messages: ModelMessage[]): Promise<unknown> {
  const model = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: 'ok' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      warnings: [],
      usage: { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
    },
    supportedUrls: { '*/*': [/.*/] },
  })
  await generateText({ model, messages })
  return model.doGenerateCalls[0]?.prompt
}

/** Removes fields without a value, and compares URLs by their text. */
const plain = (prompt: unknown): unknown => JSON.parse(JSON.stringify(prompt))

it('makes a transcript whose prompt is the one that the AI SDK makes from the same messages', async () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'How is Oslo?' },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Two looks.', providerOptions: { mock: { signature: 'x' } } },
        { type: 'text', text: 'I look.' },
        call('a'),
        call('b'),
      ],
    },
    { role: 'tool', content: [result('a', 'Rain.'), { ...result('b', ''), output: { type: 'json', value: { wind: 4 } } }] },
    { role: 'assistant', content: 'Rain.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'And here?', providerOptions: { mock: { cache: true } } },
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'file', mediaType: 'application/pdf', data: new URL('https://example.com/a.pdf'), filename: 'a.pdf' },
      ],
      providerOptions: { mock: { cache: true } },
    },
    {
      role: 'assistant',
      content: [call('c'), { ...call('d'), providerExecuted: true }, { ...result('d', ''), output: { type: 'json', value: [1] } }],
    },
    {
      role: 'tool',
      content: [
        {
          ...result('c', ''),
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'A map:' },
              { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
            ],
          },
        },
      ],
    },
    { role: 'user', content: 'Thanks.' },
  ]
  const history = fromModelMessages(messages, target)
  const { prompt, repairs } = toPrompt({ messages: history, model: target })
  expect(repairs).toEqual([])
  expect(plain(prompt)).toEqual(plain(await promptOfSdk(messages)))
})

it('L10: a converted message is plain JSON and names its origin and time', () => {
  const [question, answer, output] = fromModelMessages(
    [
      { role: 'user', content: [{ type: 'image', image: new URL('https://example.com/a') }] },
      { role: 'assistant', content: [call('a')], providerOptions: { mock: { cache: true } } },
      { role: 'tool', content: [result('a', 'Rain.')] },
    ],
    { provider: 'acme', modelId: 'big', at: 5 },
  )
  expect(question).toEqual({
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/*', data: { type: 'url', url: 'https://example.com/a' } }],
    at: 5,
  })
  expect(answer).toEqual({
    role: 'assistant',
    id: expect.stringMatching(/^msg_/) as unknown,
    content: [call('a')],
    provider: 'acme',
    modelId: 'big',
    stopReason: 'tool-calls',
    usage: {},
    at: 5,
    timing: { totalMs: 0 },
  })
  expect(output).toEqual({ role: 'tool-result', toolCallId: 'a', toolName: 'look', output: { type: 'text', value: 'Rain.' }, at: 5 })
  expect(JSON.parse(JSON.stringify([question, answer, output]))).toEqual([question, answer, output])
})

it('without options the time is now and no provider gets the data of another', () => {
  const before = Date.now()
  const [answer] = fromModelMessages([
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: { mock: { signature: 'x' } } },
        { type: 'text', text: 'Hi.' },
      ],
    },
  ])
  expect(answer).toMatchObject({ provider: 'unknown', modelId: 'unknown', stopReason: 'stop' })
  expect(answer?.at).toBeGreaterThanOrEqual(before)
  expect(answer?.at).toBeLessThanOrEqual(Date.now())
  expect(JSON.stringify(toPrompt({ messages: [answer as Message], model: target }).prompt)).not.toContain('signature')
})

it('results follow their call in the order of the calls, and each call has exactly one', () => {
  const history = fromModelMessages([
    { role: 'system', content: 'Be kind.' },
    {
      role: 'assistant',
      content: [
        call('a'),
        call('b'),
        call('c'),
        call('d'),
        { type: 'tool-approval-request', approvalId: '1', toolCallId: 'c' },
        { type: 'tool-approval-request', approvalId: '2', toolCallId: 'd' },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-approval-response', approvalId: '1', approved: false, reason: 'Not today.' },
        { type: 'tool-approval-response', approvalId: '2', approved: true },
        { type: 'tool-approval-response', approvalId: '3', approved: false },
        result('b', 'second'),
        result('z', 'of no call'),
      ],
    },
    { role: 'tool', content: [result('a', 'first'), result('a', 'again')] },
    { role: 'user', content: 'Go on.' },
  ])
  expect(history.map((message) => (message.role === 'tool-result' ? [message.toolCallId, message.output] : message.role))).toEqual([
    'assistant',
    ['a', { type: 'text', value: 'first' }],
    ['b', { type: 'text', value: 'second' }],
    ['c', { type: 'execution-denied', reason: 'Not today.' }],
    ['d', { type: 'error-text', value: 'No result was recorded for this call.' }],
    'user',
  ])
  expect(toPrompt({ messages: history, model: target }).repairs).toEqual([])
})

it('a result counts before a refusal of the same call', () => {
  const history = fromModelMessages([
    { role: 'assistant', content: [call('a'), { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' }] },
    {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId: '1', approved: false, reason: 'no' }, result('a', 'It ran all the same.')],
    },
  ])
  expect(history[1]).toMatchObject({ output: { type: 'text', value: 'It ran all the same.' } })
})

it('an id that a model uses again means its last call, which gets a new id', () => {
  const served = { ...call('a'), providerExecuted: true }
  const history = fromModelMessages(
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', 'first')] },
      { role: 'assistant', content: [call('a'), { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: '1', approved: false }] },
      { role: 'assistant', content: [served, { ...result('a', 'third'), output: { type: 'json', value: 'third' } }] },
    ],
    target,
  )
  expect(history.flatMap((message) => (message.role === 'tool-result' ? [[message.toolCallId, message.output]] : []))).toEqual([
    ['a', { type: 'text', value: 'first' }],
    ['a~2', { type: 'execution-denied' }],
  ])
  expect(history.at(-1)).toMatchObject({ content: [{ toolCallId: 'a~3' }, { toolCallId: 'a~3', result: 'third' }] })
  expect(toPrompt({ messages: history, model: target }).repairs).toEqual([])
})

it('an answer keeps every kind of part', () => {
  const [answer] = fromModelMessages([
    {
      role: 'assistant',
      content: [
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'reasoning-file', mediaType: 'image/png', data: 'AQID', providerOptions: { mock: { a: 1 } } },
        { type: 'custom', kind: 'mock.search', providerOptions: { mock: { b: 1 } } },
        { ...call('p'), providerExecuted: true },
        { ...result('p', 'broken'), output: { type: 'error-text', value: 'broken' } },
        { ...result('q', ''), output: { type: 'execution-denied', reason: 'no' } },
      ],
    },
  ])
  expect(answer).toMatchObject({
    content: [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' }, providerMetadata: { mock: { a: 1 } } },
      { type: 'custom', kind: 'mock.search', providerMetadata: { mock: { b: 1 } } },
      { ...call('p'), providerExecuted: true },
      { type: 'tool-result', toolCallId: 'p', toolName: 'look', result: 'broken', isError: true },
      { type: 'tool-result', toolCallId: 'q', toolName: 'look', result: { type: 'execution-denied', reason: 'no' } },
    ],
  })
})

const bytes = new Uint8Array([1, 2, 3])
const inline = { type: 'data', data: 'AQID' }
const file = (data: unknown, more: object = { mediaType: 'image/png' }) => ({ type: 'file', data, ...more })

it.each([
  ['base64', file('AQID'), 'image/png', inline],
  ['bytes', file(bytes), 'image/png', inline],
  ['a buffer', file(bytes.buffer), 'image/png', inline],
  ['the text of a URL', file('https://example.com/a'), 'image/png', { type: 'url', url: 'https://example.com/a' }],
  ['a URL', file(new URL('http://example.com/a')), 'image/png', { type: 'url', url: 'http://example.com/a' }],
  ['a data URL alone', file('data:image/gif;a=b;base64,AQID', {}), 'image/gif', inline],
  ['a data URL without a media type', file('data:;base64,AQID'), 'image/png', inline],
  ['the URL of a bucket', file(new URL('gs://bucket/a.png')), 'image/png', { type: 'url', url: 'gs://bucket/a.png' }],
  ['the text of a URL of a bucket', file('s3://bucket/a.png'), 'image/png', { type: 'url', url: 's3://bucket/a.png' }],
  ['a data URL, whose media type counts before a stated one', file('data:image/gif;base64,AQID'), 'image/gif', inline],
  [
    'a data URL that is not in base64',
    file('data:text/plain,a', { mediaType: 'text/plain' }),
    'text/plain',
    { type: 'url', url: 'data:text/plain,a' },
  ],
  ['tagged data', file({ type: 'data', data: bytes }), 'image/png', inline],
  [
    'a tagged URL',
    file({ type: 'url', url: new URL('https://example.com/a') }),
    'image/png',
    { type: 'url', url: 'https://example.com/a' },
  ],
  [
    'a tagged URL as it was written',
    file({ type: 'url', url: new URL('https://example.com'), originalUrl: 'https://example.com' }),
    'image/png',
    { type: 'url', url: 'https://example.com' },
  ],
  ['a tagged path', file({ type: 'url', url: '/uploads/a.png' }), 'image/png', { type: 'url', url: '/uploads/a.png' }],
  ['a tagged data URL', file({ type: 'url', url: new URL('data:image/gif;base64,AQID') }), 'image/gif', inline],
  ['a tagged text', file({ type: 'text', text: 'é' }, { mediaType: 'text/plain' }), 'text/plain', { type: 'data', data: 'w6k=' }],
  ['an image without a media type', { type: 'image', image: bytes }, 'image/*', inline],
])('a user may send a file as %s', (_what, part, mediaType, data) => {
  const [message] = fromModelMessages([{ role: 'user', content: [part] } as ModelMessage])
  expect(message).toMatchObject({ content: [{ type: 'file', mediaType, data }] })
})

it.each([
  [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'a' },
  ],
  [
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes }, filename: 'a.png' },
    { type: 'file', mediaType: 'image/png', data: inline, filename: 'a.png' },
  ],
  [
    { type: 'media', mediaType: 'image/png', data: 'AQID' },
    { type: 'file', mediaType: 'image/png', data: inline },
  ],
  [
    { type: 'file-data', mediaType: 'image/png', data: 'AQID' },
    { type: 'file', mediaType: 'image/png', data: inline },
  ],
  [
    { type: 'image-data', data: 'AQID' },
    { type: 'file', mediaType: 'image/*', data: inline },
  ],
  [
    { type: 'file-url', url: 'https://example.com/a' },
    { type: 'file', mediaType: 'application/octet-stream', data: { type: 'url', url: 'https://example.com/a' } },
  ],
  [
    { type: 'file-url', url: 'data:application/pdf;base64,AQID', mediaType: undefined },
    { type: 'file', mediaType: 'application/pdf', data: inline },
  ],
  [
    { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { acme: 'f1' } } },
    { type: 'text', text: '[file omitted: only the provider has its content]' },
  ],
  [
    { type: 'image-url', url: 'https://example.com/a' },
    { type: 'file', mediaType: 'image/*', data: { type: 'url', url: 'https://example.com/a' } },
  ],
  [
    { type: 'file-id', fileId: 'f1' },
    { type: 'text', text: '[file-id omitted: only the provider has its content]' },
  ],
  [{ type: 'custom' }, { type: 'text', text: '[custom omitted: only the provider has its content]' }],
])('a result may have the item %j', (item, expected) => {
  const output = { type: 'content', value: [item] }
  const history = fromModelMessages([
    { role: 'assistant', content: [call('a')] },
    { role: 'tool', content: [{ ...result('a', ''), output }] } as ModelMessage,
  ])
  expect(history[1]).toMatchObject({ output: { type: 'content', value: [expected] } })
})

it('a file of which there is only a reference becomes a text', () => {
  const reference = { acme: 'f1' }
  const tagged = { type: 'file' as const, mediaType: 'image/png', data: { type: 'reference' as const, reference } }
  const history = fromModelMessages([
    { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: reference }, { type: 'image', image: reference }, tagged] },
    { role: 'assistant', content: [tagged] },
  ])
  const omitted = (kind: string) => ({ type: 'text', text: `[${kind} omitted: only the provider has its content]` })
  expect(history).toMatchObject([{ content: ['file', 'image', 'file'].map(omitted) }, { content: [omitted('file')] }])
})

it('equal ids in one answer get their results in order', () => {
  const history = fromModelMessages([
    { role: 'assistant', content: [call('a'), call('a')] },
    { role: 'tool', content: [result('a', 'first'), result('a', 'second'), result('a', 'of no call')] },
  ])
  expect(history.flatMap((message) => (message.role === 'tool-result' ? [[message.toolCallId, message.output]] : []))).toEqual([
    ['a', { type: 'text', value: 'first' }],
    ['a~2', { type: 'text', value: 'second' }],
  ])
})

it('a call that the provider runs has its result in the answer, also if a tool message has it', () => {
  const served = (id: string) => ({ ...call(id), providerExecuted: true })
  const history = fromModelMessages(
    [
      {
        role: 'assistant',
        content: [
          served('a'),
          served('b'),
          served('c'),
          served('d'),
          { ...result('c', ''), output: { type: 'json', value: 3 } },
          { type: 'tool-approval-request', approvalId: '1', toolCallId: 'b' },
        ],
      },
      {
        role: 'tool',
        content: [
          { ...result('a', ''), output: { type: 'error-text', value: 'broken' } },
          { type: 'tool-approval-response', approvalId: '1', approved: false, reason: 'no' },
          result('c', 'again'),
        ],
      },
    ],
    target,
  )
  expect(history).toHaveLength(1)
  expect(history[0]).toMatchObject({
    stopReason: 'stop',
    content: [
      ...['a', 'b', 'c', 'd'].map((toolCallId) => ({ type: 'tool-call', toolCallId })),
      { type: 'tool-result', toolCallId: 'c', result: 3 },
      { type: 'tool-result', toolCallId: 'a', result: 'broken', isError: true },
      { type: 'tool-result', toolCallId: 'b', result: { type: 'execution-denied', reason: 'no' } },
    ],
  })
})

it('a result that a provider gives only in a later answer stays there, under the id of its call', async () => {
  const messages: ModelMessage[] = [
    { role: 'assistant', content: [{ ...call('a'), providerExecuted: true }, call('b')] },
    { role: 'tool', content: [result('b', 'Rain.')] },
    {
      role: 'assistant',
      content: [
        { ...result('a', ''), output: { type: 'json', value: [1] } },
        { type: 'text', text: 'Rain.' },
      ],
    },
    { role: 'user', content: 'Thanks.' },
  ]
  const history = fromModelMessages(messages, target)
  expect(history.filter(({ role }) => role === 'tool-result')).toMatchObject([{ toolCallId: 'b' }])
  const { prompt, repairs } = toPrompt({ messages: history, model: target })
  expect(repairs).toEqual([])
  expect(plain(prompt)).toEqual(plain(await promptOfSdk(messages)))
})

const user = (part: unknown) => [{ role: 'user', content: [part] }]
const assistant = (part: unknown) => [{ role: 'assistant', content: [part] }]
const tool = (part: unknown) => [{ role: 'tool', content: [part] }]

it.each([
  ['messages must be a list of messages; received a text', 'hello'],
  ['messages[0].role must be one of system, user, assistant, tool; received "data"', [{ role: 'data', content: '' }]],
  ['messages[0].content must be a list of parts; received 5', [{ role: 'user', content: 5 }]],
  ['messages[0].content must be a list of parts; received a text', [{ role: 'tool', content: 'x' }]],
  ['messages[0].content[0] must be a part; received a text', user('x')],
  ['messages[0].content[0].type must be one of text, image, file; received "video"', user({ type: 'video' })],
  ['messages[0].content[0].text must be a text; received 5', user({ type: 'text', text: 5 })],
  ['messages[0].content[0].data must be a text in base64, bytes or a URL; received 5', user({ type: 'file', mediaType: 'a/b', data: 5 })],
  ['messages[0].content[0].mediaType must be a text; received undefined', user({ type: 'file', data: 'AQID' })],
  [
    'messages[0].content[0].type must be one of text, reasoning, file, reasoning-file, custom, tool-call, tool-result, tool-approval-request; received undefined',
    assistant({}),
  ],
  [
    'messages[0].content[0].toolCallId must be a text with at least one character; received undefined',
    assistant({ type: 'tool-call', toolName: 'look' }),
  ],
  [
    'messages[0].content[0].data.reference must be an object with the id of the file by provider; received undefined',
    user({ type: 'file', mediaType: 'a/b', data: { type: 'reference' } }),
  ],
  ['messages[0].content[0].data.url must be a text; received 5', user({ type: 'file', mediaType: 'a/b', data: { type: 'url', url: 5 } })],
  ['messages[0].content[0].type must be one of tool-result, tool-approval-response; received "text"', tool({ type: 'text' })],
  [
    "messages[0].content[0].output must be an output, like { type: 'text', value }; received a text",
    tool({ ...result('a', ''), output: 'x' }),
  ],
  [
    'messages[0].content[0].output.value[0].type must be one of text, file,',
    tool({ ...result('a', ''), output: { type: 'content', value: [{ type: 'film' }] } }),
  ],
])('refuses with “%s”', (message, messages) => {
  expect(() => fromModelMessages(messages as ModelMessage[])).toThrow(
    expect.objectContaining({ code: 'invalid-input', message: expect.stringContaining(message) as unknown }),
  )
})
