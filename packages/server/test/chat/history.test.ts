import type { ChatHistory } from '@bowline/client/chat'
import { defineTool } from '@bowline/agent-loop'
import { createRedaction } from '@bowline/llm'
import { createToken } from '@bowline/server'
import { createNodeServer } from '@bowline/server/node'
import { flexibleRateLimiter } from '@bowline/server/rate-limits'
import { convertToModelMessages, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { readTurns } from '../../src/chat/read-turns.ts'
import { bench, gate, localTool, refusal, remoteTool, say, stores, type Bench } from '../support/bench.ts'
import { allUiFrames, chatBody, chunksOf, messageOf, openChat, postChat, textOf, userMessage } from '../support/chat.ts'

const key = 'tenant:local:s:mine'
const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })
const asking = (name: string) => ({ ...localTool(name, () => `${name}d`), needsApproval: true })
const png = { type: 'file', mediaType: 'image/png', filename: 'knot.png', url: 'data:image/png;base64,iVBORw0KGgo=' } as const

async function load({ get }: Bench, path = 'mine', headers: Record<string, string> = {}): Promise<ChatHistory> {
  const response = await get(`/api/chat/${path}`, headers)
  expect(response.status).toBe(200)
  const history = (await response.json()) as ChatHistory
  await convertToModelMessages(history.messages)
  return history
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const texts = (messages: readonly UIMessage[]) => messages.map((message) => `${message.role}: ${textOf(message)}`)
const part = ({ messages }: ChatHistory, name: string) =>
  messages.flatMap(({ parts }) => parts).find((each) => each.type === `tool-${name}`)
const send = async (it: Bench, ...messages: readonly object[]) =>
  messageOf(chunksOf(await allUiFrames(await postChat(it, chatBody(messages)))))

describe.each(stores)('a conversation that is loaded, over the $name store', ({ make }) => {
  it('V101: equals what the page that was there showed, ids included: files, reasoning, tools, questions, failures', async () => {
    const failure = Object.assign(new Error('revoked'), { statusCode: 401, responseBody: '', isRetryable: false })
    const fails = defineTool({
      name: 'fail',
      description: 'Fails.',
      inputSchema: { type: 'object' },
      effect: 'pure',
      execute: () => Promise.reject(new Error('broken')),
    })
    const steps = [
      {
        reasoning: 'Hm.',
        text: 'A knot. ',
        parts: [{ type: 'source', sourceType: 'url', id: 's1', url: 'https://knots.example/' }] as const,
      },
      { text: 'Looking. ', ...calls('look', 'fail') },
      { text: 'Seen.' },
      calls('erase'),
      { text: 'Gone.' },
      { error: failure },
      { text: 'Better.' },
    ]
    const it = await bench({ store: make(), steps, tools: [localTool('look', () => 'seen'), fails, asking('erase')] })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'What is it?', files: [png] })
    await chat.sendMessage({ text: 'look!' })
    await chat.sendMessage({ text: 'erase!' })
    const asked = await load(it)
    expect(json(asked.messages)).toEqual(json(chat.messages))
    expect(asked.run).toMatchObject({ runId: chat.lastMessage?.id, status: 'waiting-for-user', stopping: false })
    const question = part(asked, 'erase')
    await chat.addToolApprovalResponse({ id: (question && 'approval' in question && question.approval?.id) || '', approved: true })
    await chat.sendMessage()
    await chat.sendMessage({ text: 'again' })
    expect(chat.status).toBe('error')
    await chat.sendMessage({ text: 'and now?' })
    const history = await load(it)
    expect(json(history.messages)).toEqual(json(chat.messages))
    expect(texts(history.messages).slice(-4)).toEqual(['user: again', 'assistant: ', 'user: and now?', 'assistant: Better.'])
    expect(Object.keys(history)).toEqual(['id', 'messages', 'queued', 'cursor'])
    expect(it.faults).toEqual([])
  })

  it('V101: contains an open answer as far as it goes, with its question, and a page that loads it continues without duplicates', async () => {
    const hold = gate()
    const rest = [
      { wait: hold.passed },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'it.' },
      { type: 'text-end', id: 'b' },
    ] as const
    const it = await bench({ store: make(), steps: [{ text: 'Zero.' }, { reasoning: 'Hm.', text: 'Half of ', chunk: 2, parts: rest }] })
    const there = openChat(it)
    await there.sendMessage({ text: 'zero' })
    const sending = there.sendMessage({ text: 'one' })
    await expect.poll(() => textOf(there.lastMessage ?? expect.fail())).toBe('Half of ')
    const history = await load(it)
    expect(texts(history.messages)).toEqual(['user: zero', 'assistant: Zero.', 'user: one', 'assistant: Half of '])
    expect(json(history.messages)).toEqual(json(there.messages))
    expect(history.run).toEqual({ runId: there.lastMessage?.id, status: 'running', stopping: false })
    expect(history.cursor).toMatch(/^\d+\.\d+\.1-8$/)
    const back = openChat(it, { messages: history.messages })
    const resuming = back.resumeStream()
    await expect.poll(() => back.status).toBe('streaming')
    hold.open()
    await Promise.all([sending, resuming])
    expect(texts(back.messages)).toEqual(['user: zero', 'assistant: Zero.', 'user: one', 'assistant: Half of it.'])
    expect(json(back.messages)).toEqual(json(there.messages))
    expect(json((await load(it)).messages)).toEqual(json(there.messages))
  })

  it('V101: an answer that has not begun has its place, for the page that asked and for a page that loads it', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: () => hold.passed.then(() => ({ text: 'Done.' })), runtimeOptions: { concurrency: 1 } })
    const other = await postChat(it, chatBody([userMessage('u1', 'elsewhere')], { id: 'other' }))
    const there = openChat(it)
    const sending = there.sendMessage({ text: 'one' })
    await expect.poll(() => texts(there.messages)).toEqual(['user: one', 'assistant: '])
    expect(there.status).toBe('submitted')
    const history = await load(it)
    expect(history.run).toEqual({ runId: there.lastMessage?.id, status: 'queued', stopping: false })
    expect(json(history.messages)).toEqual(json(there.messages))
    const back = openChat(it, { messages: history.messages })
    const resuming = back.resumeStream()
    await expect.poll(() => back.status).toBe('submitted')
    hold.open()
    await Promise.all([sending, resuming, allUiFrames(other)])
    expect(texts(back.messages)).toEqual(['user: one', 'assistant: Done.'])
    expect([json(back.messages), json((await load(it)).messages)]).toEqual([json(there.messages), json(there.messages)])
  })

  it('V101: shows answers that were given while others are missing, and the loaded page gives the rest', async () => {
    const steps = [calls('place', 'time', 'erase'), { text: 'In Oslo at noon.' }]
    const it = await bench({ store: make(), steps, tools: [remoteTool('place'), remoteTool('time'), asking('erase')] })
    const first = openChat(it)
    await first.sendMessage({ text: 'where?' })
    await first.addToolOutput({ tool: 'place', toolCallId: 'call-place', output: { city: 'Oslo' } })
    const waiting = await load(it)
    const question = part(waiting, 'erase')
    await first.addToolApprovalResponse({
      id: (question && 'approval' in question && question.approval?.id) || '',
      approved: false,
      reason: 'No.',
    })
    await first.sendMessage()
    const history = await load(it)
    expect(json(history.messages)).toEqual(json(first.messages))
    expect(part(history, 'place')).toMatchObject({ state: 'output-available', output: { city: 'Oslo' } })
    expect(part(history, 'erase')).toMatchObject({ state: 'approval-responded', approval: { approved: false, reason: 'No.' } })
    const back = openChat(it, { messages: history.messages })
    await back.addToolOutput({ tool: 'time', toolCallId: 'call-time', state: 'output-error', errorText: 'no clock' })
    await back.sendMessage()
    expect([back.status, textOf(back.lastMessage ?? expect.fail())]).toEqual(['ready', 'In Oslo at noon.'])
    expect(json((await load(it)).messages)).toEqual(json(back.messages))
    expect(back.messages).toHaveLength(2)
  })

  it('V101: messages that wait after the open answer are returned separately, and messages steered into it are a part of it', async () => {
    const hold = gate()
    const it = await bench({
      store: make(),
      steps: async (_call, index) => {
        if (index === 0) await hold.passed
        return index === 0 ? calls('look') : { text: `Answer ${index}.` }
      },
      tools: [localTool('look', () => 'seen')],
    })
    const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
    for (const [route, input] of [
      ['follow-up', say('two')],
      ['steer', say('aside')],
    ] as const) {
      expect((await it.post(`/api/agent/session/mine/${route}`, { input })).status).toBe(202)
    }
    const open = await load(it)
    expect([texts(open.messages), texts(open.queued)]).toEqual([['user: one', 'assistant: '], ['user: two']])
    hold.open()
    await allUiFrames(first)
    await expect.poll(async () => (await load(it)).run).toBeUndefined()
    const { messages } = await load(it)
    expect(texts(messages)).toEqual(['user: one', 'assistant: Answer 1.', 'user: two', 'assistant: Answer 2.'])
    expect(messages[0]?.id).toBe('u1')
    expect(messages[1]?.parts.find(({ type }) => type === 'data-runtime-input')).toMatchObject({
      data: { source: 'steer', message: { content: 'aside' } },
    })
  })

  it('V101: of regenerated answers and replaced messages, the newest is shown, under the ids of the page', async () => {
    const it = await bench({
      store: make(),
      steps: [{ text: 'One.' }, { text: 'One again.' }, { text: 'Two.' }, { text: 'Other.' }, { text: 'Next.' }],
    })
    const chat = openChat(it)
    const same = async () => expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    await chat.sendMessage({ text: 'one' })
    await chat.regenerate()
    await same()
    await chat.sendMessage({ text: 'two' })
    const back = openChat(it, { messages: (await load(it)).messages })
    await back.sendMessage({ text: 'other', messageId: back.messages[0]?.id ?? '' })
    await back.sendMessage({ text: 'next' })
    const { messages } = await load(it)
    expect(json(messages)).toEqual(json(back.messages))
    expect(texts(messages)).toEqual(['user: other', 'assistant: Other.', 'user: next', 'assistant: Next.'])
    expect(messages[0]?.id).toBe(chat.messages[0]?.id)
  })

  it('V101: of messages that failed or never began, and were sent again, the newest is shown', async () => {
    const failure = Object.assign(new Error('revoked'), { statusCode: 401, responseBody: '', isRetryable: false })
    const hold = gate()
    const it = await bench({
      store: make(),
      steps: async (_call, index) => {
        if (index === 2) await hold.passed
        return index === 0 ? { error: failure } : { text: `Answer ${index}.` }
      },
    })
    const chat = openChat(it)
    const same = async () => expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    await chat.sendMessage({ text: 'one' })
    await same()
    await chat.regenerate()
    await same()
    const open = await postChat(it, chatBody([userMessage('u2', 'two')]))
    const { runId } = (await (await it.post('/api/agent/session/mine/follow-up', { input: say('three') })).json()) as {
      readonly runId: string
    }
    await it.post('/api/chat/mine/stop', { runId })
    hold.open()
    await allUiFrames(open)
    const { messages } = await load(it)
    expect(texts(messages)).toEqual([
      'user: one',
      'assistant: Answer 1.',
      'user: two',
      'assistant: Answer 2.',
      'user: three',
      'assistant: ',
    ])
    const back = openChat(it, { messages })
    await back.regenerate({ messageId: runId })
    expect(texts(back.messages).slice(4)).toEqual(['user: three', 'assistant: Answer 3.'])
    expect(texts((await load(it)).messages)).toEqual(texts(back.messages))
  })

  it('V101: pages begin with whole turns, and lead back to the beginning', async () => {
    const steps = Array.from({ length: 5 }, (_, turn) => [calls(`look`), { text: `Answer ${turn}.` }]).flat()
    const it = await bench({
      store: make(),
      steps: (_call, index) => ({
        ...steps[index],
        ...(index % 2 === 0 && { toolCalls: [{ id: `call-${index}`, name: 'look', input: {} }] }),
      }),
      tools: [localTool('look', () => 'seen')],
    })
    for (let turn = 0; turn < 5; turn++) await send(it, userMessage(`u${turn}`, `${turn}`))
    const whole = await load(it)
    const pages: ChatHistory[] = [await load(it, 'mine?limit=5')]
    for (let next = pages[0]?.next; next !== undefined; next = pages.at(-1)?.next) pages.push(await load(it, `mine?limit=5&before=${next}`))
    expect(pages.map(({ messages }) => messages.length)).toEqual([4, 4, 2])
    expect(pages.toReversed().flatMap(({ messages }) => messages)).toEqual(whole.messages)
    expect(texts(whole.messages)).toHaveLength(10)
    await refusal(it.get('/api/chat/mine?before=nobody'), 404, 'unknown-entry')
    await refusal(it.get('/api/chat/mine?limit=501'), 400, 'invalid-query')
  })

  it('V101: for a copy, and for a path that ends in the middle of a turn, only the messages are shown', async () => {
    const it = await bench({
      store: make(),
      steps: [{ reasoning: 'Hm.', ...calls('look') }, { text: 'Seen.' }, { text: 'Two.' }, { text: 'Three.' }],
      tools: [localTool('look', () => 'seen')],
    })
    await send(it, userMessage('u1', 'look!'))
    const { messages: original } = await load(it)
    expect((await it.post('/api/agent/session/mine/fork', { newSessionId: 'copy' })).status).toBe(201)
    await allUiFrames(await postChat(it, chatBody([userMessage('u2', 'two')], { id: 'copy' })))
    const copy = await load(it, 'copy')
    expect(texts(copy.messages)).toEqual(['user: look!', 'assistant: Seen.', 'user: two', 'assistant: Two.'])
    const newest = await load(it, 'copy?limit=2')
    expect(texts(newest.messages)).toEqual(['user: two', 'assistant: Two.'])
    expect(texts((await load(it, `copy?limit=2&before=${newest.next}`)).messages)).toEqual(['user: look!', 'assistant: Seen.'])
    const dataless = original[1]?.parts
      .filter(({ type }) => type !== 'data-usage')
      .map((each) => ({ ...each, ...(each.type === 'reasoning' && { id: expect.any(String) as string }) }))
    expect(copy.messages[1]?.parts).toEqual(dataless)
    const stored = await it.runtime.session(key).messages()
    await it.runtime.session(key).switchTo(stored.items[2]?.id ?? '')
    expect((await load(it)).messages[1]?.parts.map(({ type }) => type)).toEqual(['step-start', 'reasoning', 'tool-look'])
    await send(it, userMessage('u3', 'three'))
    expect(texts((await load(it)).messages)).toEqual(['user: look!', 'assistant: ', 'user: three', 'assistant: Three.'])
  })
})

it.each(stores)('V101: shows the messages of a run that is no longer kept, over the $name store', async ({ make }) => {
  const steps = [{ text: 'Looking. ', ...calls('look') }, { text: 'Seen.' }, { text: 'Two.' }]
  const it = await bench({ store: make(), steps, tools: [localTool('look', () => 'seen')] })
  const first = await send(it, userMessage('u1', 'look!'))
  await it.runtime.store.prune({ runsEndedBefore: Date.now() + 60_000 }, 100)
  expect(await it.runtime.run(first.id)).toBeNull()
  await send(it, userMessage('u2', 'two'))
  const { messages } = await load(it)
  expect(texts(messages)).toEqual(['user: look!', 'assistant: Looking. Seen.', 'user: two', 'assistant: Two.'])
  expect(messages[1]).toMatchObject({ id: first.id, metadata: { sessionId: 'mine', runId: first.id } })
  expect(messages[1]?.parts).toEqual(json(first.parts.filter(({ type }) => type !== 'data-usage')))
})

it('V101: a log that was truncated while it was read is read from its new beginning', async () => {
  const it = await bench({ steps: [{ text: 'One.' }, { text: 'Two.' }] })
  const ids = [(await send(it, userMessage('u1', 'one'))).id, (await send(it, userMessage('u2', 'two'))).id]
  const session = it.runtime.session(key)
  const { items } = await it.runtime.store.listRuns(key)
  const [, second] = items
  const cut = Object.assign(new Error('cut'), {
    [Symbol.for('bowline.sessions.error')]: true,
    code: 'cursor-expired',
    firstSeq: second?.firstSeq,
  })
  let reads = 0
  const events: typeof session.events = (options) => {
    if (reads++ === 0) throw cut
    return session.events(options)
  }
  const log = { session: { events }, sessionId: 'mine', redaction: createRedaction(), end: (await session.info())?.cursor ?? '' }
  const { folds } = await readTurns(log, items)
  expect([[...folds.keys()], folds.get(ids[1] ?? '')?.isOver]).toEqual([[ids[1]], true])
})

it('V101, V76: a load counts like a read of a session', async () => {
  const it = await bench({ make: createNodeServer, auth: 'none', rateLimiter: flexibleRateLimiter() })
  const counted = await Promise.all(
    ['/api/chat/mine', '/api/agent/session/mine'].map(async (path) => (await it.get(path)).headers.get('ratelimit')?.split(';')[0]),
  )
  expect(counted).toEqual(['"control"', '"control"'])
})

it('V101: a conversation that has not begun is empty; a deleted one is not', async () => {
  const it = await bench({ steps: [{ text: 'Hello.' }] })
  expect(await load(it)).toEqual({ id: 'mine', messages: [], queued: [], cursor: '0' })
  await send(it, userMessage('u1', 'hi'))
  expect((await fetch(`${it.url}/api/agent/session/mine`, { method: 'DELETE' })).status).toBe(204)
  await refusal(it.get('/api/chat/mine'), 410, 'session-deleted')
})

it('V101, V63: a caller cannot read the conversation of another tenant, or any conversation without the right to', async () => {
  const tokens = await Promise.all(
    ['a', 'b'].map((tenant) =>
      createToken({ id: tenant, tenant, scopes: tenant === 'a' ? ['sessions:read', 'sessions:write'] : ['sessions:read'] }),
    ),
  )
  const none = await createToken({ id: 'none', tenant: 'a', scopes: ['sessions:write'] })
  const [a = {}, b = {}, other = {}] = [...tokens, none].map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const it = await bench({ auth: { tokens: [...tokens, none].map(({ config }) => config) }, steps: [{ text: 'Hello.' }] })
  await allUiFrames(await postChat(it, chatBody([userMessage('u1', 'hi')]), a))
  expect(texts((await load(it, 'mine', a)).messages)).toEqual(['user: hi', 'assistant: Hello.'])
  expect(await load(it, 'mine', b)).toEqual(await load(it, 'other', b).then((history) => ({ ...history, id: 'mine' })))
  await refusal(it.get('/api/chat/mine', other), 403, 'scope-missing')
  await refusal(it.get('/api/chat/mine'), 401, 'unauthenticated')
})

it('V101: secrets in failures are not returned this way', async () => {
  const leaking = defineTool({
    name: 'leak',
    description: 'Fails.',
    inputSchema: { type: 'object' },
    effect: 'pure',
    execute: () => Promise.reject(new Error('refused sk-ant-0123456789abcdefghij0123456789')),
  })
  const it = await bench({ steps: [calls('leak'), { text: 'Oh.' }], tools: [leaking] })
  const streamed = await send(it, userMessage('u1', 'hi'))
  const { messages } = await load(it)
  expect(json(messages[1])).toEqual(json(streamed))
  expect(JSON.stringify(messages)).not.toContain('sk-ant-0123456789')
})
