import { isDurable } from '@bowline/agent-loop'
import { createHash, randomBytes } from 'node:crypto'
import { createNodeServer, guardedDownload } from '@bowline/server/node'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, stores, type Bench, type BenchOptions } from './support/bench.ts'
import { fileServer } from './support/file-server.ts'
import { allFrames, completion, eventsOf } from './support/frames.ts'

const open = '127.0.0.2'
const download = guardedDownload({ http: true, allow: [open], resolve: () => Promise.resolve([open]) })

const message = (...urls: string[]) => ({
  role: 'user',
  content: [
    { type: 'text', text: 'What is this?' },
    ...urls.map((url) => ({ type: 'file', mediaType: 'image/*', data: { type: 'url', url } })),
  ],
})

/** Returns the user message with which the model was called. */
const seen = ({ model }: Bench) => model.calls[0]?.prompt.find(({ role }) => role === 'user')?.content

it('V74: a file that a client gave by its address is fetched once, through the guard, and stored as data', async () => {
  const picture = randomBytes(100_000)
  const { port, asked } = await fileServer(open, (_request, response) => response.setHeader('content-type', 'image/png').end(picture))
  const it = await bench({ make: createNodeServer, download, steps: [{ text: 'A cat.' }] })
  const answer = await it.execute({ sessionId: 'mine', input: message(`http://files.example:${port}/a`), context: {} })
  expect(completion(await allFrames(answer)).status).toBe('completed')
  expect(seen(it)).toMatchObject([{ type: 'text' }, { type: 'file', mediaType: 'image/png', data: { type: 'data' } }])
  const view = (await (await it.get('/api/agent/session/mine')).json()) as { messages: { content: { data: { data: string } }[] }[] }
  const stored = Buffer.from(view.messages[0]?.content[1]?.data.data ?? '', 'base64')
  expect(createHash('sha256').update(stored).digest('hex')).toBe(createHash('sha256').update(picture).digest('hex'))
  expect(JSON.stringify([seen(it), view])).not.toContain('files.example')
  expect(asked).toEqual(['files.example/a'])
})

it('V74: a file that the guard refuses, or that cannot be fetched, is refused before anything is stored', async () => {
  const it = await bench({ make: createNodeServer })
  for (const url of ['https://169.254.169.254/', 'http://files.example/', 'https://127.0.0.1/', 'nowhere']) {
    await refusal(it.execute({ sessionId: 'mine', input: message(url), context: {} }), 403, 'url-not-allowed')
  }
  const gone = await bench({ download: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1')) })
  const problem = await refusal(
    gone.execute({ sessionId: 'mine', input: message('https://files.example/'), context: {} }),
    422,
    'invalid-input',
  )
  expect(problem.detail).toBe('A file could not be fetched.')
  for (const each of [it, gone]) await refusal(each.get('/api/agent/session/mine'), 404, 'session-missing')
})

it('V74: a message may have eight addresses, and nothing is fetched for a message with more', async () => {
  let fetches = 0
  const it = await bench({
    steps: [{ text: 'Hi.' }],
    download: () => Promise.resolve({ data: new Uint8Array([++fetches]), mediaType: 'image/png' }),
  })
  const urls = Array.from({ length: 9 }, (_, index) => `https://files.example/${index}`)
  await refusal(it.execute({ input: message(...urls), context: {} }), 403, 'url-not-allowed')
  expect(fetches).toBe(0)
  await allFrames(await it.execute({ input: message(...urls.slice(1)), context: {} }))
  expect(fetches).toBe(8)
})

it('V74: on every route for messages, files are fetched the same way', async () => {
  const it = await bench({
    steps: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }, { text: 'Four.' }],
    download: (url) => Promise.resolve({ data: new TextEncoder().encode(url.pathname), mediaType: 'image/png' }),
  })
  await allFrames(await it.execute({ sessionId: 'mine', input: message('https://files.example/execute'), context: {} }))
  for (const path of ['steer', 'follow-up']) {
    const answer = await it.post(`/api/agent/session/mine/${path}`, { input: message(`https://files.example/${path}`) })
    expect(answer.status).toBe(202)
    await (await it.get('/api/agent/session/mine/events?until=settled')).text()
  }
  const part = { type: 'file', mediaType: 'image/png', url: 'https://files.example/chat' }
  await (
    await it.post('/api/chat', { id: 'mine', trigger: 'submit-message', messages: [{ id: 'u1', role: 'user', parts: [part] }] })
  ).text()
  const view = (await (await it.get('/api/agent/session/mine')).json()) as {
    messages: { role: string; content: { type: string; data?: { data: string } }[] }[]
  }
  const files = view.messages.flatMap(({ content }) =>
    content.flatMap(({ data }) => (data ? [Buffer.from(data.data, 'base64').toString()] : [])),
  )
  expect(files).toEqual(['/execute', '/steer', '/follow-up', '/chat'])
})

const mebibyte = 1024 * 1024

it('V74: the files of a message share 10 MiB, and are fetched one after the other with what is left of it', async () => {
  const bounds: (number | undefined)[] = []
  let now = 0
  const it = await bench({
    steps: [{ text: 'Hi.' }],
    download: async (_url, _signal, maxBytes?: number) => {
      expect(++now).toBe(1)
      bounds.push(maxBytes)
      await new Promise((resolve) => setImmediate(resolve))
      now--
      return { data: new Uint8Array(4 * mebibyte), mediaType: 'image/png' }
    },
  })
  const urls = ['a', 'b', 'c', 'd'].map((name) => `https://files.example/${name}`)
  await refusal(it.execute({ sessionId: 'mine', input: message(...urls), context: {} }), 422, 'invalid-input')
  expect(bounds).toEqual([10 * mebibyte, 6 * mebibyte, 2 * mebibyte])
  await refusal(it.get('/api/agent/session/mine'), 404, 'session-missing')
})

it('V74: base64 text of a download is not encoded again, and bytes are encoded', async () => {
  const bytes = randomBytes(100_001)
  const it = await bench({
    steps: [{ text: 'Hi.' }],
    download: ({ pathname }) =>
      Promise.resolve({ data: bytes, mediaType: 'image/png', ...(pathname === '/text' && { toBase64: () => 'QUJD' }) }),
  })
  await allFrames(await it.execute({ input: message('https://files.example/text', 'https://files.example/bytes'), context: {} }))
  const parts = seen(it) as readonly { readonly data?: { readonly data: string } }[]
  expect(parts.map(({ data }) => data?.data)).toEqual([undefined, 'QUJD', bytes.toString('base64')])
})

it('V74: four files are fetched at once, the others wait, as long as their requests do', async () => {
  const gates = new Map<string, ReturnType<typeof gate>>()
  let begun = gate()
  const it = await bench({
    download: async ({ pathname }) => {
      const hold = gate()
      gates.set(pathname, hold)
      if (gates.size >= 4) begun.open()
      await hold.passed
      return { data: new Uint8Array([1]), mediaType: 'image/png' }
    },
    steps: Array.from({ length: 6 }, () => ({ text: 'Hi.' })),
  })
  const given = (name: string, signal?: AbortSignal) =>
    it.server.fetch(
      new Request('http://127.0.0.1/api/agent/execute', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ input: message(`https://files.example/${name}`), context: {} }),
        ...(signal && { signal }),
      }),
      { remoteAddress: '127.0.0.1' },
    )
  const first = ['1', '2', '3', '4'].map((name) => given(name))
  await begun.passed
  const leaving = new AbortController()
  const gone = given('5', leaving.signal)
  const last = given('6')
  await (await it.get('/api/agents')).text()
  expect([...gates.keys()].sort()).toEqual(['/1', '/2', '/3', '/4'])
  leaving.abort()
  await gone.catch(() => undefined)
  begun = gate()
  gates.get('/1')?.open()
  await begun.passed
  expect([...gates.keys()].sort()).toEqual(['/1', '/2', '/3', '/4', '/6'])
  for (const { open: go } of gates.values()) go()
  for (const answer of [...first, last]) expect(completion(await allFrames(await answer)).status).toBe('completed')
})

describe.each(stores)('a repeat of a message with addresses, over the $name store', ({ make }) => {
  /** Returns a download for which each address works only once. */
  const once = () => {
    const asked: string[] = []
    return {
      asked,
      download: ({ pathname }: URL) => {
        if (asked.includes(pathname)) return Promise.reject(new Error('It is gone.'))
        asked.push(pathname)
        return Promise.resolve({ data: randomBytes(10), mediaType: 'image/png' })
      },
    }
  }

  it('V11: joins the run, and its files are not fetched again', async () => {
    const { asked, download } = once()
    const it = await bench({ store: make(), download, steps: [{ text: 'One.' }, { text: 'Two.' }] })
    const body = { sessionId: 'mine', input: message('https://files.example/a'), context: {} }
    const first = await allFrames(await it.execute(body, { 'idempotency-key': 'k1' }))
    await allFrames(await it.execute({ sessionId: 'mine', input: { role: 'user', content: 'more' } }))
    const again = await allFrames(await it.execute(body, { 'idempotency-key': 'k1' }))
    expect(completion(again)).toEqual(completion(first))
    expect(eventsOf(again).filter(isDurable)).toEqual(eventsOf(first).filter(isDurable))
    expect(asked).toEqual(['/a'])
    expect(it.model.calls).toHaveLength(2)
  })

  it('V11: joins the run also after a hundred other inputs', async () => {
    const { asked, download } = once()
    const it = await bench({ store: make(), download, steps: Array.from({ length: 102 }, () => ({ text: 'Done.' })) })
    const body = { sessionId: 'mine', input: message('https://files.example/a'), context: {} }
    const first = completion(await allFrames(await it.execute(body, { 'idempotency-key': 'k1' })))
    for (let count = 0; count < 101; count++) await (await it.runtime.session('tenant:local:s:mine').send('more')).result()
    expect((await it.execute(body, { 'idempotency-key': 'k1' })).headers.get('x-run-id')).toBe(first.runId)
    expect(asked).toEqual(['/a'])
  })

  it('V11: if two at once cannot both have the file, both join the run', async () => {
    const { asked, download } = once()
    const begun = gate()
    const it = await bench({
      store: make(),
      steps: [{ text: 'One.' }],
      download: async (url) => {
        const isFirst = asked.length === 0
        if (!isFirst) begun.open()
        const file = download(url).catch((error: unknown) => error as Error)
        await begun.passed
        const got = await file
        if (!(got instanceof Error)) return got
        while ((await it.runtime.session('tenant:local:s:mine').info()) === null) await new Promise((resolve) => setImmediate(resolve))
        throw got
      },
    })
    const body = { sessionId: 'mine', input: message('https://files.example/a'), context: {} }
    const answers = await Promise.all([1, 2].map(() => it.execute(body, { 'idempotency-key': 'k1' })))
    const ends = await Promise.all(answers.map(async (answer) => completion(await allFrames(answer))))
    expect(ends[0]).toEqual(ends[1])
    expect(it.model.calls).toHaveLength(1)
  })

  it('V46: sent by a page, it joins too', async () => {
    const { asked, download } = once()
    const it = await bench({ store: make(), download, steps: [{ text: 'One.' }] })
    const part = { type: 'file', mediaType: 'image/png', url: 'https://files.example/chat' }
    const body = { id: 'mine', trigger: 'submit-message', messages: [{ id: 'u1', role: 'user', parts: [part] }] }
    const first = await it.post('/api/chat', body)
    await first.text()
    const again = await it.post('/api/chat', body)
    expect([again.status, again.headers.get('x-run-id')]).toEqual([200, first.headers.get('x-run-id')])
    expect(await again.text()).toContain('One.')
    expect(asked).toEqual(['/chat'])
  })

  it('V11: a repeated steering input or follow-up answers with the same run', async () => {
    const { asked, download } = once()
    const hold = gate()
    const it = await bench({
      store: make(),
      download,
      steps: [{ parts: [{ wait: hold.passed }], text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }],
    })
    const answer = await it.execute({ sessionId: 'mine', input: { role: 'user', content: 'hi' }, context: {} })
    const receipts = new Map<string, unknown>()
    const give = async (path: string) => {
      const given = await it.post(`/api/agent/session/mine/${path}`, { id: path, input: message(`https://files.example/${path}`) })
      expect(given.status).toBe(202)
      return ((await given.json()) as { runId: string }).runId
    }
    for (const path of ['steer', 'follow-up']) receipts.set(path, await give(path))
    for (const path of ['steer', 'follow-up']) expect(await give(path)).toBe(receipts.get(path))
    hold.open()
    await allFrames(answer)
    await (await it.get('/api/agent/session/mine/events?until=settled')).text()
    for (const path of ['steer', 'follow-up']) expect(await give(path)).toBe(receipts.get(path))
    expect(asked).toEqual(['/steer', '/follow-up'])
  })
})

it('V73: without a guard addresses are refused, and in tool results always', async () => {
  for (const options of [{}, { make: createNodeServer, download: false }]) {
    const { execute } = await bench(options as BenchOptions)
    await refusal(execute({ input: message('https://files.example/'), context: {} }), 403, 'url-not-allowed')
  }
  const steps = [{ toolCalls: [{ id: 'call-look', name: 'look', input: {} }] }]
  const { execute } = await bench({ make: createNodeServer, download, tools: [remoteTool('look')], steps })
  await allFrames(await execute({ sessionId: 'mine', input: { role: 'user', content: 'look' }, context: {} }))
  const [, file] = message('https://files.example/').content
  const results = [{ toolCallId: 'call-look', output: { type: 'content', value: [file] } }]
  await refusal(execute({ sessionId: 'mine', input: results }), 403, 'url-not-allowed')
})
