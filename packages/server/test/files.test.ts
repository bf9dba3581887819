import { createHash, randomBytes } from 'node:crypto'
import { createNodeServer, guardedDownload } from '@bowline/server/node'
import { expect, it } from 'vitest'
import { bench, refusal, remoteTool, type Bench, type BenchOptions } from './support/bench.ts'
import { fileServer } from './support/file-server.ts'
import { allFrames, completion } from './support/frames.ts'

const open = '127.0.0.2'
const download = guardedDownload({ http: true, allow: [open], resolve: () => Promise.resolve([open]) })

const message = (...urls: string[]) => ({
  role: 'user',
  content: [{ type: 'text', text: 'What is this?' }, ...urls.map((url) => ({ type: 'file', mediaType: 'image/*', data: { type: 'url', url } }))],
})

/** The user message that the model was called with. */
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

it('V74: what the guard refuses, and what cannot be fetched, is refused before anything is stored', async () => {
  const it = await bench({ make: createNodeServer })
  for (const url of ['https://169.254.169.254/', 'http://files.example/', 'https://127.0.0.1/', 'nowhere']) {
    await refusal(it.execute({ sessionId: 'mine', input: message(url), context: {} }), 403, 'url-not-allowed')
  }
  const gone = await bench({ download: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1')) })
  const problem = await refusal(gone.execute({ sessionId: 'mine', input: message('https://files.example/'), context: {} }), 422, 'invalid-input')
  expect(problem.detail).toBe('A file could not be fetched.')
  for (const each of [it, gone]) await refusal(each.get('/api/agent/session/mine'), 404, 'session-missing')
})

it('V74: a message may have eight addresses, and nothing is fetched for one that has more', async () => {
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

it('V74: wherever a message comes in, its files are fetched the same way', async () => {
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
  await (await it.post('/api/chat', { id: 'mine', trigger: 'submit-message', messages: [{ id: 'u1', role: 'user', parts: [part] }] })).text()
  const view = (await (await it.get('/api/agent/session/mine')).json()) as { messages: { role: string; content: { type: string; data?: { data: string } }[] }[] }
  const files = view.messages.flatMap(({ content }) => content.flatMap(({ data }) => (data ? [Buffer.from(data.data, 'base64').toString()] : [])))
  expect(files).toEqual(['/execute', '/steer', '/follow-up', '/chat'])
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
