import type { ChatHistory } from '@bowline/client/chat'
import { createToken } from '@bowline/server'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, remoteTool, say, stores, type Bench } from '../support/bench.ts'
import { allUiFrames, chatBody, chunksOf, messageOf, openChat, postChat, textOf, userMessage } from '../support/chat.ts'

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })
const load = async ({ get }: Bench) => (await (await get('/api/chat/mine')).json()) as ChatHistory
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const texts = (messages: readonly UIMessage[]) => messages.map((message) => `${message.role}: ${textOf(message)}`)
const promptOf = ({ model }: Bench, call: number) => JSON.stringify(model.calls[call]?.prompt)
const stop = async ({ post }: Bench, body: object = {}) =>
  (await (await post('/api/chat/mine/stop', body)).json()) as { readonly state: string; readonly runId: string }

/** Creates a tool that ignores its signal. */
function deafTool() {
  const [started, end] = [gate(), gate()]
  const tool = localTool('deaf', async () => {
    started.open()
    await end.passed
    return 'late'
  })
  return { tool, started: started.passed, end: end.open }
}

describe.each(stores)('a stopped answer, over the $name store', ({ make }) => {
  it('V102: the next message is accepted at once, and its answer sees the stopped one in its current state', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'Half of it.', hang: 'middle' }, { text: 'Next.' }] })
    const chat = openChat(it)
    const sending = chat.sendMessage({ text: 'one' })
    await expect.poll(() => texts(chat.messages.slice(1)).join('')).toMatch(/^assistant: ./)
    const shown = textOf(chat.lastMessage ?? expect.fail())
    expect(await stop(it)).toMatchObject({ state: 'settled' })
    await sending
    await chat.sendMessage({ text: 'two' })
    expect([chat.status, chat.error?.message]).toEqual(['ready', undefined])
    expect(texts(chat.messages)).toEqual(['user: one', `assistant: ${shown}`, 'user: two', 'assistant: Next.'])
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    expect(promptOf(it, 1)).toContain(shown)
    expect(promptOf(it, 1)).toContain('one')
  })

  it('V102: also while a tool that ignores the stop is still running', async () => {
    const { tool, started, end } = deafTool()
    const it = await bench({ store: make(), steps: [calls('deaf'), { text: 'Next.' }], tools: [tool], abortGraceMs: 3_600_000 })
    const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
    await started
    expect(await stop(it, { waitMs: 0 })).toMatchObject({ state: 'pending', runId: first.headers.get('x-run-id') })
    expect((await load(it)).run).toMatchObject({ stopping: true })
    const second = await postChat(it, chatBody([userMessage('u2', 'two')]))
    expect(second.status).toBe(200)
    end()
    await allUiFrames(first)
    expect(textOf(await messageOf(chunksOf(await allUiFrames(second))))).toBe('Next.')
    const { messages } = await load(it)
    expect(texts(messages)).toEqual(['user: one', 'assistant: ', 'user: two', 'assistant: Next.'])
    expect(messages[1]?.parts.map(({ type }) => type)).toContain('data-stopped')
    expect(promptOf(it, 1)).toContain('call-deaf')
  })

  it('V102: messages that wait after the answer are stopped with it; a named run is stopped alone', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: [{ parts: [{ wait: hold.passed }], text: 'One.' }, { text: 'Next.' }] })
    const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
    const ids: string[] = []
    for (const text of ['two', 'three'])
      ids.push(((await (await it.post('/api/agent/session/mine/follow-up', { input: say(text) })).json()) as { runId: string }).runId)
    await stop(it, { runId: ids[0] })
    expect(texts((await load(it)).queued)).toEqual(['user: three'])
    await refusal(it.post('/api/chat/mine/stop', { runId: 'nobody' }), 404, 'unknown-run')
    await stop(it)
    await allUiFrames(first)
    expect(textOf(await messageOf(chunksOf(await allUiFrames(await postChat(it, chatBody([userMessage('u2', 'four')]))))))).toBe('Next.')
    const shown = texts((await load(it)).messages).filter((text) => text.startsWith('user'))
    expect(shown).toEqual(['user: one', 'user: two', 'user: three', 'user: four'])
    hold.open()
  })

  it('V102: an answer that waits for the page is stopped too, and its question is no longer open', async () => {
    const it = await bench({ store: make(), steps: [calls('place'), { text: 'Next.' }], tools: [remoteTool('place')] })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'where?' })
    await chat.sendMessage({ text: 'two' })
    expect(chat.error?.message).toBe('The assistant waits for an answer to what it has asked. Answer it, or stop it, and send again.')
    expect(await stop(it)).toMatchObject({ state: 'settled' })
    const back = openChat(it, { messages: (await load(it)).messages })
    expect(back.messages[1]?.parts).toContainEqual(expect.objectContaining({ type: 'tool-place', state: 'output-error' }))
    await back.sendMessage({ text: 'two' })
    expect([back.status, ...texts(back.messages)]).toEqual(['ready', 'user: where?', 'assistant: ', 'user: two', 'assistant: Next.'])
    expect(json((await load(it)).messages)).toEqual(json(back.messages))
  })

  it('V102: the stopped answer is regenerated without waiting', async () => {
    const { tool, started, end } = deafTool()
    const it = await bench({ store: make(), steps: [calls('deaf'), { text: 'Again.' }], tools: [tool], abortGraceMs: 3_600_000 })
    const chat = openChat(it)
    const sending = chat.sendMessage({ text: 'one' })
    await started
    await stop(it, { waitMs: 0 })
    const session = it.runtime.session.bind(it.runtime)
    it.runtime.session = (...args: Parameters<typeof session>) => {
      const real = session(...args)
      return { ...real, stop: (options) => (end(), real.stop(options)) }
    }
    await Promise.all([sending, chat.regenerate()])
    expect(texts((await load(it)).messages)).toEqual(['user: one', 'assistant: Again.'])
  })
})

it('V102: regenerate sends a refused message again, as pages do', async () => {
  const hold = gate()
  const it = await bench({
    steps: async (_call, index) => {
      if (index === 0) await hold.passed
      return { text: ['One.', 'Two.'][index] ?? '' }
    },
  })
  const first = await postChat(it, chatBody([userMessage('u1', 'one')]))
  const chat = openChat(it, { messages: (await load(it)).messages })
  await chat.sendMessage({ text: 'two' })
  expect([chat.status, chat.error?.message]).toEqual([
    'error',
    'The assistant is still answering. Wait for it, or stop it, and send again.',
  ])
  hold.open()
  await allUiFrames(first)
  await chat.regenerate()
  expect([chat.status, chat.error?.message]).toEqual(['ready', undefined])
  expect(texts((await load(it)).messages)).toEqual(['user: one', 'assistant: One.', 'user: two', 'assistant: Two.'])
})

it('V102: for every refusal the page gets a sentence, and a program that asks for it the problem', async () => {
  const { token, config } = await createToken({ id: 'page', tenant: 'demo', scopes: ['sessions:read', 'sessions:write'] })
  const it = await bench({
    auth: { tokens: [config] },
    steps: [calls('erase')],
    tools: [{ ...remoteTool('erase'), needsApproval: true }],
    limits: { bodyBytes: 2000 },
  })
  const authorization = { authorization: `Bearer ${token}` }
  const page = (headers: Record<string, string> = authorization) =>
    openChat(it, { transport: new DefaultChatTransport({ api: `${it.url}/api/chat`, headers }) })
  const stranger = page({})
  await stranger.sendMessage({ text: 'hi' })
  const long = page()
  await long.sendMessage({ text: 'x'.repeat(3000) })
  const blank = page()
  await blank.sendMessage({ text: ' ' })
  const asked = page()
  await asked.sendMessage({ text: 'go' })
  const [question] = (
    (await (await it.get('/api/agent/session/mine', authorization)).json()) as { pendingApprovals: { approvalId: string }[] }
  ).pendingApprovals
  await asked.addToolApprovalResponse({ id: question?.approvalId ?? '', approved: true })
  await asked.sendMessage()
  const answering = page()
  await answering.sendMessage({ parts: [], role: 'assistant', id: 'nobody' })
  const lost = page({})
  await lost.resumeStream()
  expect([stranger, long, blank, asked, answering, lost].map(({ error }) => error?.message)).toEqual([
    'You are not signed in, or no longer. Sign in and send it again.',
    'The message is too large.',
    'messages: The last message must have a text or a file.',
    'The scope approvals is needed to decide about a call.',
    'This was answered already, or is no longer asked. Load the page again.',
    'You are not signed in, or no longer. Sign in and send it again.',
  ])
  for (const accept of ['application/json', 'application/problem+json;q=0.9', 'text/html, application/json']) {
    await refusal(it.post('/api/chat', chatBody([]), { ...authorization, accept }), 400, 'invalid-body')
  }
  const text = await it.post('/api/chat', chatBody([]), { ...authorization, accept: 'application/x-ndjson' })
  expect([text.status, text.headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8'])
})

it('V102, V19: a caller cannot stop the answer of another tenant', async () => {
  const tokens = await Promise.all(
    ['a', 'b'].map((tenant) => createToken({ id: tenant, tenant, scopes: ['sessions:read', 'sessions:write'] })),
  )
  const [a = {}, b = {}] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const hold = gate()
  const it = await bench({ auth: { tokens: tokens.map(({ config }) => config) }, steps: () => hold.passed.then(() => ({ text: 'One.' })) })
  const first = await postChat(it, chatBody([userMessage('u1', 'one')]), a)
  const runId = first.headers.get('x-run-id')
  for (const body of [{}, { runId }])
    expect(await (await it.post('/api/chat/mine/stop', body, b)).json()).toMatchObject({ state: 'nothing-to-stop' })
  hold.open()
  expect(textOf(await messageOf(chunksOf(await allUiFrames(first))))).toBe('One.')
})
