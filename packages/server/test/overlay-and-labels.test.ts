import { defineAgent } from '@bowline/agent-loop'
import { createClient, type BranchList, type LabelList, type SessionView } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, say, stores, type Bench } from './support/bench.ts'
import { allFrames, completion } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const view = async (answer: Response | Promise<Response>) => (await (await answer).json()) as SessionView
const labels = async ({ get }: Bench, query = '') => ((await (await get(`${mine}/labels${query}`)).json()) as LabelList).labels
const begin = async (it: Bench, input: unknown = 'first') => allFrames(await it.execute({ sessionId: 'mine', input, context: {} }))
const answers = (...texts: readonly string[]) => texts.map((text) => ({ text }))
const textsOf = (prompt: unknown) => JSON.stringify(prompt)

describe.each(stores)('overlay, labels and switches over the $name store', ({ make }) => {
  it('V103: an overlay is shown in the next turns, once per id, and is in no message', async () => {
    const it = await bench({ store: make(), steps: answers('One.', 'Two.', 'Three.', 'Four.') })
    await begin(it)
    const overlay = { input: 'The page shows knots.', id: 'o1', turns: 2 }
    for (let again = 0; again < 2; again++) expect((await it.post(`${mine}/overlay`, overlay)).status).toBe(204)
    await refusal(it.post(`${mine}/overlay`, { ...overlay, input: 'Another.' }), 422, 'id-reused')
    for (const input of ['second', 'third', 'fourth']) await allFrames(await it.execute({ sessionId: 'mine', input }))
    const shown = it.model.calls.map(({ prompt }) => textsOf(prompt).split('The page shows knots.').length - 1)
    expect(shown).toEqual([0, 1, 1, 0])
    expect(textsOf((await view(it.get(mine))).messages)).not.toContain('page shows')
  })

  it('V103: a label names an entry of the active path until it is removed', async () => {
    const it = await bench({ store: make(), steps: answers('One.') })
    await begin(it)
    const [first, answer] = (await view(it.get(mine))).messages
    expect((await it.post(`${mine}/labels`, { entryId: first?.id, text: 'Start' })).status).toBe(204)
    expect((await it.post(`${mine}/labels`, { entryId: answer?.id, text: 'Done' })).status).toBe(204)
    expect(await labels(it)).toEqual([
      { entryId: first?.id, text: 'Start', at: expect.any(Number) },
      { entryId: answer?.id, text: 'Done', at: expect.any(Number) },
    ])
    const { branches } = (await (await it.get(`${mine}/branches`)).json()) as BranchList
    expect(branches).toMatchObject([{ label: 'Done', active: true }])
    expect((await it.post(`${mine}/labels`, { entryId: first?.id, text: null })).status).toBe(204)
    expect(await labels(it)).toMatchObject([{ text: 'Done' }])
    expect(await labels(it, `?leaf=${first?.id}`)).toEqual([])
    await refusal(it.post(`${mine}/labels`, { entryId: 'nobody', text: 'x' }), 404, 'unknown-entry')
    for (const text of ['', 'x'.repeat(201), 5]) await refusal(it.post(`${mine}/labels`, { entryId: first?.id, text }), 400, 'invalid-body')
  })

  it('V103: a switch with a summary shows the model a summary of the branch it left, and a failed switch changes nothing', async () => {
    const it = await bench({
      store: make(),
      steps: [...answers('One.', 'Two.', 'They tied knots.', 'Other.'), { error: new Error('no model') }],
    })
    await begin(it)
    await allFrames(await it.execute({ sessionId: 'mine', input: 'second' }))
    const { messages } = await view(it.get(mine))
    const switched = await it.post(`${mine}/switch`, { entryId: messages[1]?.id, summarize: true, instructions: 'Name the knots.' })
    expect(switched.status).toBe(200)
    expect(textsOf(it.model.calls[2]?.prompt)).toContain('Name the knots.')
    await allFrames(await it.execute({ sessionId: 'mine', input: 'third' }))
    expect(textsOf(it.model.calls[3]?.prompt)).toContain('They tied knots.')
    const before = await view(it.get(mine))
    await refusal(it.post(`${mine}/switch`, { entryId: messages[0]?.id, summarize: true }), 502, 'summary-failed')
    expect((await view(it.get(mine))).messages).toEqual(before.messages)
  })

  it('V103: the client has a method for each', async () => {
    const { url } = await bench({ store: make(), steps: answers('One.', 'Two.', 'They tied knots.', 'Other.') })
    const session = createClient({ baseUrl: url }).session('mine')
    await session.send('first').result()
    await session.overlay('Seen on the page.')
    const result = await session.send({ role: 'user', content: [{ type: 'text', text: 'second' }] }).result()
    const [question] = result.messages
    await session.label(question?.id ?? '', 'Second')
    const labelled = (await session.branches()).branches
    await session.unlabel(question?.id ?? '')
    expect([labelled.length, (await session.state()).messages.length]).toEqual([1, 4])
    const { messages } = await session.state()
    const back = await session.switchTo(messages[1]?.id ?? '', { summarize: true, instructions: 'Short.' })
    expect(back.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    await expect(session.switchTo(null, { summarise: true } as never)).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(session.overlay('x', { turns: 0 })).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(session.label('x', '')).rejects.toMatchObject({ code: 'invalid-input' })
  })
})

it('V103: overlay, labels and switch need sessions:write, names sessions:read; labels and switch do not wait for an open run', async () => {
  const secrets = ['sessions:read', 'sessions:write'] as const
  const made = await Promise.all(secrets.map((scope) => createToken({ id: scope.slice(9), tenant: 'acme', scopes: [scope] })))
  const hold = gate()
  const it = await bench({ steps: [{ parts: [{ wait: hold.passed }], text: 'One.' }], auth: { tokens: made.map(({ config }) => config) } })
  const [reads = {}, writes = {}] = made.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const running = await it.execute({ sessionId: 'mine', input: 'first', context: {} }, writes)
  for (const [path, body] of [
    ['overlay', { input: 'x' }],
    ['labels', { entryId: 'e', text: 'x' }],
    ['switch', { entryId: null, summarize: true }],
  ] as const) {
    await refusal(it.post(`${mine}/${path}`, body, reads), 403, 'scope-missing')
    if (path !== 'overlay') await refusal(it.post(`${mine}/${path}`, body, writes), 409, 'busy')
    await refusal(it.post(`/api/agent/session/none/${path}`, body, writes), 404, 'session-missing')
  }
  await refusal(it.get(`${mine}/labels`, writes), 403, 'scope-missing')
  hold.open()
  await allFrames(running)
})

it('V10, V103: an agent that forbids steering by clients accepts no overlay', async () => {
  const it = await bench({ steps: answers('One.'), agents: { assistant: { onBusy: ['queue'] } } })
  await begin(it)
  await refusal(it.post(`${mine}/overlay`, { input: 'x' }), 403, 'option-not-allowed')
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

describe('inputs', () => {
  it('accept a string in place of a message: execute, steer, follow-up and overlay, and both are one input', async () => {
    const hold = gate()
    const it = await bench({
      steps: [{ toolCalls: [{ id: 'c', name: 'wait', input: {} }] }, { text: 'One.' }, { text: 'Two.' }],
      tools: [localTool('wait', () => hold.passed.then(() => 'waited'))],
    })
    const key = { 'idempotency-key': 'k' }
    const running = await it.execute({ sessionId: 'mine', input: 'first', context: {} }, key)
    const again = await it.execute({ sessionId: 'mine', input: say('first'), context: {} }, key)
    expect(again.headers.get('x-run-id')).toBe(running.headers.get('x-run-id'))
    expect((await it.post(`${mine}/steer`, { input: 'steered' })).status).toBe(202)
    expect((await it.post(`${mine}/follow-up`, { input: 'followed' })).status).toBe(202)
    hold.open()
    await Promise.all([allFrames(running), allFrames(again)])
    await refusal(it.execute({ sessionId: 'mine', input: ' ' }), 400, 'invalid-body')
    const { messages } = await view(it.get(mine))
    expect(messages.flatMap((message) => (message.role === 'user' ? [message.content] : []))).toEqual(
      expect.arrayContaining(['first', 'steered']),
    )
  })

  it('accept images in the format of the AI SDK and store them as files with an image media type', async () => {
    const it = await bench({ steps: answers('Seen.', 'Seen.') })
    const parts = [
      { image: png },
      { image: `data:image/webp;base64,${png}` },
      { image: 'AAAA' },
      { image: 'AAAA', mediaType: 'image/avif' },
    ]
    await begin(it, { role: 'user', content: [{ type: 'text', text: 'Look.' }, ...parts.map((part) => ({ type: 'image', ...part }))] })
    const [message] = (await view(it.get(mine))).messages
    const file = (mediaType: string, data: string) => ({ type: 'file', mediaType, data: { type: 'data', data } })
    expect(message?.role === 'user' && message.content).toEqual([
      { type: 'text', text: 'Look.' },
      ...[file('image/png', png), file('image/webp', png), file('image/*', 'AAAA'), file('image/avif', 'AAAA')],
    ])
    expect(textsOf(it.model.calls[0]?.prompt)).toContain('image/png')
    const only = (part: object) => it.execute({ sessionId: 'mine', input: { role: 'user', content: [{ type: 'image', ...part }] } })
    await refusal(only({ image: 'https://example.com/a.png' }), 403, 'url-not-allowed')
    for (const wrong of [
      {},
      { image: '' },
      { image: 'no base64!' },
      { image: 'data:text/plain;base64,AAAA' },
      { image: 'AAAA', mediaType: 'text/plain' },
      { image: 'AAAA', alt: 'x' },
    ]) {
      await refusal(only(wrong), 400, 'invalid-body')
    }
    const chat = { id: 'page', trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'image', image: png }] }] }
    await (await it.post('/api/chat', chat)).text()
    expect((await view(it.get('/api/agent/session/page'))).messages[0]).toMatchObject({ content: [file('image/png', png)] })
  })
})

it('V13: context.messages accepts messages from GET: user messages in full, of answers their text', async () => {
  const call = { toolCalls: [{ id: 'c', name: 'look', input: {} }] }
  const it = await bench({
    steps: [{ text: 'Hm.', ...call }, { text: 'A bowline.' }, call, { text: 'Still one.' }, { text: 'Sure.' }, { text: 'Sure.' }],
    tools: [localTool('look', () => 'a secret of the tool')],
    agents: { assistant: { clientHistory: true } },
  })
  await begin(it, {
    role: 'user',
    content: [
      { type: 'text', text: 'Which knot?' },
      { type: 'image', image: png },
    ],
  })
  await allFrames(await it.execute({ sessionId: 'mine', input: 'Look again.' }))
  const { messages } = await view(it.get(mine))
  expect(messages.map(({ role }) => role)).toContain('tool-result')
  const copy = async (sessionId: string, history: SessionView['messages']) => {
    const frames = await allFrames(await it.execute({ sessionId, input: 'Sure?', context: { messages: history } }))
    expect(completion(frames).status).toBe('completed')
    return (await view(it.get(`/api/agent/session/${sessionId}`))).messages
  }
  const said = (list: SessionView['messages']) =>
    list.map((message) => [
      message.role,
      message.role === 'assistant'
        ? message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
        : message.role === 'user' && message.content,
    ])
  const once = await copy('one', messages)
  expect(said(once.slice(0, -2))).toEqual(said(messages).filter(([role, text]) => role !== 'tool-result' && text !== ''))
  expect(textsOf(once)).not.toContain('a secret of the tool')
  const twice = await copy('two', once.slice(0, -2))
  expect(said(twice)).toEqual(said(once))
})

it('V13: a message in the format of GET is checked in the parts that are used', async () => {
  const { execute } = await bench({ agents: { assistant: { clientHistory: true } } })
  const ask = (message: object) => execute({ input: say('hi'), context: { messages: [{ id: 'm', at: 1, ...message }] } })
  for (const wrong of [
    { role: 'user', content: '' },
    { role: 'user', content: [{ type: 'video' }] },
    { role: 'assistant', content: 'text' },
    { role: 'assistant', content: [{ type: 'text', text: 5 }] },
  ]) {
    await refusal(ask(wrong), 400, 'invalid-body')
  }
  await refusal(
    ask({ role: 'user', content: [{ type: 'file', mediaType: 'a/b', data: { type: 'url', url: 'http://127.0.0.1/' } }] }),
    403,
    'url-not-allowed',
  )
  const agent = defineAgent({ name: 'other', model: scriptedModel([]) })
  await refusal(
    (await bench({ otherAgents: [agent] })).execute({ input: 'hi', context: { messages: [{ role: 'user', content: 'x' }] } }),
    403,
    'option-not-allowed',
  )
})
