import { ClientError } from '@bowline/client'
import { createChatClient } from '@bowline/client/chat'
import { createToken } from '@bowline/server'
import type { UIMessage } from 'ai'
import { expect, it } from 'vitest'
import { bench, gate, localTool, remoteTool, type Bench } from '../support/bench.ts'
import { allUiFrames, chatBody, openChat, postChat, textOf, userMessage } from '../support/chat.ts'

const texts = (messages: readonly UIMessage[]) => messages.map((message) => `${message.role}: ${textOf(message)}`)
const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

/** Creates a chat client that records its requests. */
function connect({ url }: Bench, { held, ...options }: { token?: () => string; held?: { path: string; passed: Promise<void> } } = {}) {
  const sent: { readonly path: string; readonly body: unknown; readonly accept: string | null }[] = []
  const chats = createChatClient({
    baseUrl: url,
    ...options,
    fetch: async (input, init) => {
      const { body } = init ?? {}
      if (held && (input as string).endsWith(held.path)) await held.passed
      sent.push({
        path: (input as string).slice(url.length),
        body: typeof body === 'string' ? JSON.parse(body) : undefined,
        accept: new Headers(init?.headers).get('accept'),
      })
      return fetch(input, init)
    },
  })
  return { chats, sent }
}

it('V101: an answer that ends between the history and its stream is shown to its end, and no answer of another conversation appears', async () => {
  const hold = gate()
  const it = await bench({ steps: async () => (await hold.passed, { text: 'All of it.' }) })
  const { chats } = connect(it)
  const answering = allUiFrames(await postChat(it, chatBody([userMessage('u1', 'one')])))
  const { messages, run } = await chats.load('mine')
  expect(run).toBeDefined()
  hold.open()
  await answering
  const page = openChat(it, { transport: chats.transport, messages })
  await page.resumeStream()
  expect(texts(page.messages)).toEqual(['user: one', 'assistant: All of it.'])
  expect(JSON.parse(JSON.stringify(page.messages))).toEqual((await chats.load('mine')).messages)
  // The run id is used once: a later reconnect asks for the answer that is then open.
  expect(await chats.transport.reconnectToStream({ chatId: 'mine' })).toBeNull()
  await allUiFrames(await postChat(it, chatBody([userMessage('u2', 'two')], { id: 'other' })))
  expect((await it.get(`/api/chat/other/stream?run=${run?.runId}`)).status).toBe(404)
})

it('V101: a page asks for the answer that it has loaded until it gets its stream, sends, or loads again', async () => {
  const [first, second] = [gate(), gate()]
  const it = await bench({
    steps: async (_call, index) => {
      await [first.passed, undefined, second.passed][index]
      return { text: 'Done.' }
    },
  })
  let isDown = false
  const asked: string[] = []
  const chats = createChatClient({
    baseUrl: it.url,
    fetch: async (input, init) => {
      if ((input as string).includes('/stream')) {
        asked.push(new URL(input).search)
        if (isDown) throw new TypeError('no network')
      }
      return fetch(input, init)
    },
  })
  const resume = () => chats.transport.reconnectToStream({ chatId: 'mine' })
  const answering = allUiFrames(await postChat(it, chatBody([userMessage('u1', 'one')])))
  const { run } = await chats.load('mine')
  isDown = true
  await expect(resume()).rejects.toThrow()
  isDown = false
  await (await resume())?.cancel()
  await (await resume())?.cancel()
  expect([...new Set(asked)]).toEqual([`?run=${run?.runId}`, ''])
  expect(asked.at(-1)).toBe('')

  await chats.load('mine')
  first.open()
  await answering
  await openChat(it, { transport: chats.transport }).sendMessage({ text: 'two' })
  expect(await resume()).toBeNull()
  const third = allUiFrames(await postChat(it, chatBody([userMessage('u3', 'three')])))
  await chats.load('mine')
  second.open()
  await third
  await chats.load('mine')
  expect(await resume()).toBeNull()
})

it('V101, V102: the chat client sends only the last message, loads and resumes a conversation, and stops its answer', async () => {
  const it = await bench({ steps: [{ text: 'One.' }, { text: 'Half of it.', hang: 'middle' }, { text: 'Three.' }] })
  const { chats, sent } = connect(it)
  expect(await chats.load('mine')).toEqual({ id: 'mine', messages: [], queued: [], cursor: '0' })
  const chat = openChat(it, { transport: chats.transport })
  await chat.sendMessage({ text: 'one' })
  const sending = chat.sendMessage({ text: 'two' })
  await expect.poll(() => textOf(chat.messages[3] ?? { id: '', role: 'user', parts: [] })).not.toBe('')
  expect(sent.filter(({ path }) => path === '/api/chat').map(({ body }) => (body as { messages: unknown[] }).messages.length)).toEqual([
    1, 1,
  ])
  const { messages, run } = await chats.load('mine')
  expect(run?.runId).toBe(chat.lastMessage?.id)
  const back = openChat(it, { transport: chats.transport, messages })
  const resuming = back.resumeStream()
  await expect.poll(() => back.status).toBe('streaming')
  expect(await chats.stop('mine')).toMatchObject({ state: 'settled', status: 'stopped' })
  await Promise.all([sending, resuming])
  expect([chat.status, back.status]).toEqual(['ready', 'ready'])
  await back.sendMessage({ text: 'three' })
  const shown = await chats.load('mine')
  expect(JSON.parse(JSON.stringify(back.messages))).toEqual(shown.messages)
  expect(texts(shown.messages).at(-1)).toBe('assistant: Three.')
  expect((await chats.load('mine', { limit: 1 })).next).toBeDefined()
})

it('V102: a message does not overtake a stop, and does not wait for the end of the stopped answer', async () => {
  const [started, end] = [gate(), gate()]
  const deaf = localTool('deaf', async () => {
    started.open()
    await end.passed
    return 'late'
  })
  const it = await bench({ steps: [calls('deaf'), { text: 'Next.' }], tools: [deaf], abortGraceMs: 3_600_000 })
  const hold = gate()
  const { chats, sent } = connect(it, { held: { path: '/stop', passed: hold.passed } })
  const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
  await started.passed
  const stopping = chats.stop('mine')
  const chat = openChat(it, { transport: chats.transport, messages: (await chats.load('mine')).messages })
  const sending = chat.sendMessage({ text: 'two' })
  await chats.load('mine')
  expect(sent.map(({ path }) => path)).toEqual(['/api/chat/mine', '/api/chat/mine'])
  hold.open()
  await expect.poll(async () => texts((await chats.load('mine')).queued)).toEqual(['user: two'])
  const posts = sent.filter(({ body }) => body !== undefined).map(({ path, body }) => ({ path, body }))
  const runId = first.headers.get('x-run-id')
  expect(posts[0]).toEqual({ path: '/api/chat/mine/stop', body: { waitMs: 0 } })
  expect(posts).toContainEqual({ path: '/api/chat/mine/stop', body: { runId } })
  end.open()
  await allUiFrames(first)
  expect(await stopping).toMatchObject({ state: 'settled', runId })
  await sending
  expect([chat.status, ...texts(chat.messages)]).toEqual(['ready', 'user: one', 'assistant: ', 'user: two', 'assistant: Next.'])
})

it('V102: a stop does not overtake the message that it is to stop', async () => {
  const it = await bench({ steps: [{ text: 'Half of it.', hang: 'middle' }] })
  const hold = gate()
  const { chats } = connect(it, { held: { path: '/api/chat', passed: hold.passed } })
  const chat = openChat(it, { transport: chats.transport })
  const sending = chat.sendMessage({ text: 'one' })
  await expect.poll(() => chat.status).toBe('submitted')
  const stopping = chats.stop('mine')
  await chats.load('mine')
  hold.open()
  expect(await stopping).toMatchObject({ state: 'settled', status: 'stopped' })
  await sending
  expect(chat.status).toBe('ready')
})

it('V102: a refusal in the chat client has its code, its problem and a sentence', async () => {
  const hold = gate()
  const it = await bench({ steps: () => hold.passed.then(() => ({ text: 'One.' })) })
  const { chats, sent } = connect(it)
  const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
  const chat = openChat(it, { transport: chats.transport })
  await chat.sendMessage({ text: 'two' })
  expect(ClientError.isInstance(chat.error)).toBe(true)
  expect(chat.error).toMatchObject({
    code: 'busy',
    status: 409,
    message: 'The assistant is still answering. Wait for it, or stop it, and send again.',
    problem: { runId: first.headers.get('x-run-id') },
  })
  expect(sent.at(-1)?.accept).toBe('text/event-stream, application/problem+json')
  expect(await chats.stop('nobody')).toMatchObject({ state: 'nothing-to-stop' })
  hold.open()
  await allUiFrames(first)
})

it('V102: the chat client asks for a new token after a 401, and reports a lost connection in a form that the AI SDK recognizes', async () => {
  const { token, config } = await createToken({ id: 'page', tenant: 'demo', scopes: ['sessions:read', 'sessions:write'] })
  const it = await bench({ auth: { tokens: [config] }, steps: [{ text: 'One.' }] })
  const tokens = ['old', token]
  const { chats, sent } = connect(it, { token: () => tokens.shift() ?? token })
  const chat = openChat(it, { transport: chats.transport })
  await chat.sendMessage({ text: 'one' })
  expect([chat.status, sent.length]).toEqual(['ready', 2])
  const disconnects: boolean[] = []
  const lost = openChat(it, {
    transport: createChatClient({ baseUrl: 'http://127.0.0.1:1' }).transport,
    onFinish: ({ isDisconnect }) => disconnects.push(isDisconnect),
  })
  await lost.sendMessage({ text: 'two' })
  expect([lost.status, disconnects]).toEqual(['error', [true]])
})

it('V101: the input of a call that is still being written is returned as far as it goes', async () => {
  const hold = gate()
  const parts = [
    { type: 'tool-input-start', id: 'c', toolName: 'place' },
    { type: 'tool-input-delta', id: 'c', delta: '{"at":"se' },
    { wait: hold.passed },
    { type: 'tool-input-end', id: 'c' },
  ] as const
  const it = await bench({ steps: [{ parts }], tools: [remoteTool('place')] })
  const { chats } = connect(it)
  const chat = openChat(it, { transport: chats.transport })
  const sending = chat.sendMessage({ text: 'where?' })
  await expect.poll(() => JSON.stringify(chat.lastMessage)).toContain('"at"')
  const { messages } = await chats.load('mine')
  expect(messages).toEqual(JSON.parse(JSON.stringify(chat.messages)))
  expect(messages[1]?.parts.at(-1)).toMatchObject({ state: 'input-streaming', input: { at: 'se' }, rawInput: '{"at":"se' })
  await chats.stop('mine')
  hold.open()
  await sending
})

it('V101: a message is sent as the reply to the one that it answers, wherever that is in the conversation', async () => {
  const it = await bench({ steps: [calls('place'), { text: 'There.' }], tools: [remoteTool('place')] })
  const { chats } = connect(it)
  let answers = 0
  const chat = openChat(it, { transport: chats.transport, sendAutomaticallyWhen: () => answers-- > 0 })
  await chat.sendMessage({ text: 'where?' })
  await chat.sendMessage({ text: 'refused meanwhile' })
  expect(chat.error).toMatchObject({ code: 'busy' })
  answers = 1
  await chat.addToolOutput({ tool: 'place', toolCallId: 'call-place', output: 'Oslo' })
  await expect.poll(() => chat.status).toBe('ready')
  expect(texts(chat.messages)).toEqual(['user: where?', 'assistant: There.', 'user: refused meanwhile'])
})
