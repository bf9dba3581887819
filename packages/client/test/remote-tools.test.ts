import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ClientTools } from '../src/index.ts'
import { askStep, pendingCall, runEnd, runStart } from './support/events.ts'
import { collect, connect, startServer } from './support/setup.ts'
import { resumedBy, type WireServer } from './support/wire-server.ts'

const calls = [pendingCall('c1', 'where_am_i'), pendingCall('c2', 'ask_name', { polite: true })]

async function asking(asked = calls): Promise<WireServer> {
  const server = await startServer()
  const run = { runId: 'r1', turn: 1 }
  server.onRun = () => server.play([...runStart(run, 'hi'), ...askStep(run, 1, asked)])
  server.answered = resumedBy('r1', ['You are ', 'at sea.'])
  return server
}

const sent = (server: WireServer): unknown[] =>
  server.requests('POST', '/tool-results').map((one) => (one.body as { results: unknown }).results)

describe('remote tools', () => {
  it('C11: runs its tools in parallel, sends each result as soon as it is there, and continues the same iteration', async () => {
    const server = await asking()
    const other = Promise.withResolvers<void>()
    server.intercept = ({ path }) => (path.endsWith('/tool-results') ? void other.resolve() : undefined)
    const seen: unknown[] = []
    const tools: ClientTools = {
      where_am_i: {
        async execute(input, { toolCallId, abortSignal }) {
          seen.push([input, toolCallId, abortSignal.aborted])
          await other.promise
          return { place: 'sea' }
        },
      },
      ask_name: {
        execute(input) {
          seen.push(input)
          return 'Ada'
        },
      },
    }
    const run = connect(server).session('s1').send('hi', { tools })
    const events = await collect(run)
    expect(seen).toEqual([[{}, 'c1', false], { polite: true }])
    expect(sent(server)).toEqual([[{ toolCallId: 'c2', output: 'Ada' }], [{ toolCallId: 'c1', output: { place: 'sea' } }]])
    expect(events.filter((event) => event.type === 'turn-end').map((event) => event.status)).toEqual(['awaiting-tools', 'completed'])
    const result = await run.result()
    expect(result.status).toBe('completed')
    expect(result.messages).toEqual(server.view().messages)
    expect(result.pendingToolCalls).toBeUndefined()
  })

  it('C11: tools of the client serve every run, and tools of a send replace them by name', async () => {
    const server = await asking([calls[0] ?? pendingCall('c1', 'where_am_i')])
    const client = connect(server, { tools: { where_am_i: { execute: () => 'client' } } })
    await client
      .session('s1')
      .send('hi', { tools: { where_am_i: { execute: () => 'send' } } })
      .result()
    expect(sent(server)).toEqual([[{ toolCallId: 'c1', output: 'send' }]])
  })

  it('C12: a call without a tool stays pending, the iteration ends as awaiting-tools', async () => {
    const server = await asking()
    const run = connect(server).session('s1').send('hi')
    expect((await collect(run)).at(-1)?.type).toBe('save-point')
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: calls })
    expect(sent(server)).toEqual([])
  })

  it('C12, S82: a run that waits for a held run ends the iteration, and the result names the held run', async () => {
    const server = await asking([])
    server.heldRuns = [{ runId: 'r1/c1', agent: ['helper'], message: 'The definition of the agent has changed: the instructions.' }]
    const run = connect(server).session('s1').send('hi')
    expect((await collect(run)).at(-1)?.type).toBe('save-point')
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools', heldRuns: server.heldRuns })
  })

  it('C12: after its own answers the remaining calls are those it cannot answer', async () => {
    const server = await asking()
    const run = connect(server)
      .session('s1')
      .send('hi', { tools: { ask_name: { execute: () => 'Ada' } } })
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'c1' }] })
    expect(sent(server)).toEqual([[{ toolCallId: 'c2', output: 'Ada' }]])
    await expect.poll(() => server.openStreams).toBe(0)
  })

  it('C13: an error thrown by a tool is its answer', async () => {
    const server = await asking(calls.slice(0, 1))
    const tools: ClientTools = { where_am_i: { execute: () => Promise.reject(new Error('no place')) } }
    expect((await connect(server).session('s1').send('hi', { tools }).result()).status).toBe('completed')
    expect(sent(server)).toEqual([[{ toolCallId: 'c1', error: 'no place' }]])
  })

  const ring: Record<string, unknown> = {}
  ring['me'] = ring
  it.each<[string, unknown, object]>([
    ['nothing', undefined, { output: 'done' }],
    ['null', null, { output: null }],
    ['a text', 'Ada', { output: 'Ada' }],
    ['a list', [1, { a: null }], { output: [1, { a: null }] }],
    ['an object', { name: 'Ada', age: undefined }, { output: { name: 'Ada' } }],
    [
      'content',
      { type: 'content', value: [{ type: 'text', text: 'x' }] },
      { output: { type: 'content', value: [{ type: 'text', text: 'x' }] } },
    ],
    ['an answer', { output: 1, details: { shown: true }, isError: false }, { output: 1, details: { shown: true }, isError: false }],
    ['an answer that says nothing', { output: undefined, isError: true }, { output: 'done', isError: true }],
    ['an object with output and more', { output: 1, foo: 2 }, { output: { output: 1, foo: 2 } }],
    ['details alone', { details: 1 }, { output: { details: 1 } }],
    ['a date', { born: new Date(0) }, { error: 'output.born must be JSON; received an instance of Date' }],
    ['a number that JSON lacks', { list: [Number.NaN] }, { error: 'output.list[0] must be JSON; received NaN' }],
    ['a function', () => 1, { error: 'output must be JSON; received a function' }],
    ['a bigint', 1n, { error: 'output must be JSON; received a bigint' }],
    ['a hole', [undefined], { error: expect.stringContaining('output[0] must be') as string }],
    ['a value in itself', ring, { error: expect.stringContaining('output.me.me') as string }],
    ['live details', { output: 1, details: { at: new Map() } }, { error: 'details.at must be JSON; received an instance of Map' }],
    [
      'isError that is no boolean',
      { output: 1, isError: 'yes' },
      { error: expect.stringContaining('isError must be true or false') as string },
    ],
  ])('A190, C13: %s returned by a tool is its answer', async (_what, value, answer) => {
    const server = await asking([pendingCall('c1', 'where_am_i')])
    await connect(server)
      .session('s1')
      .send('hi', { tools: { where_am_i: { execute: () => value } } })
      .result()
    expect(sent(server)).toEqual([[{ toolCallId: 'c1', ...answer }]])
  })

  it('C13: input that does not fit the schema is refused before the tool runs', async () => {
    const server = await asking(calls.slice(1))
    let ran = false
    const execute = (): string => {
      ran = true
      return 'x'
    }
    const tools: ClientTools = { ask_name: { inputSchema: z.object({ polite: z.string() }), execute } }
    await connect(server).session('s1').send('hi', { tools }).result()
    expect(ran).toBe(false)
    expect(sent(server)).toEqual([[{ toolCallId: 'c2', error: expect.stringMatching(/^The input does not fit the tool: polite: /) }]])
  })

  it('C13: the tool gets the input as the schema converts it', async () => {
    const server = await asking(calls.slice(1))
    const inputs: unknown[] = []
    const inputSchema = z.object({ polite: z.boolean(), greeting: z.string().default('hello') })
    const tools: ClientTools = { ask_name: { inputSchema, execute: (input) => void inputs.push(input) } }
    await connect(server).session('s1').send('hi', { tools }).result()
    expect(inputs).toEqual([{ polite: true, greeting: 'hello' }])
    expect(sent(server)).toEqual([[{ toolCallId: 'c2', output: 'done' }]])
  })

  it.each(['tool-result-conflict', 'unknown-tool-call'])('C13: %s counts as answered elsewhere', async (code) => {
    const server = await asking(calls.slice(0, 1))
    server.intercept = ({ path }) => {
      if (!path.endsWith('/tool-results')) return undefined
      if (server.answered) server.add(server.answered([]))
      return { status: code === 'unknown-tool-call' ? 422 : 409, code }
    }
    const run = connect(server)
      .session('s1')
      .send('hi', { tools: { where_am_i: { execute: () => 'mine' } } })
    expect((await run.result()).status).toBe('completed')
  })

  it('C13: lost answers are sent again unchanged, and the tool runs once', async () => {
    const server = await asking(calls.slice(0, 1))
    let runs = 0
    let losses = 2
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/tool-results') || losses-- <= 0) return undefined
      response.destroy()
      return 'handled'
    }
    const tools: ClientTools = { where_am_i: { execute: () => `place ${++runs}` } }
    expect((await connect(server).session('s1').send('hi', { tools }).result()).status).toBe('completed')
    expect(sent(server)).toEqual([1, 2, 3].map(() => [{ toolCallId: 'c1', output: 'place 1' }]))
  })

  it('C14: abortSignal ends the tools that run here, and no answer is sent for them', async () => {
    const server = await asking(calls.slice(0, 1))
    const leaving = new AbortController()
    const aborted = Promise.withResolvers<void>()
    const tools: ClientTools = {
      where_am_i: {
        execute: (_input, { abortSignal }) =>
          new Promise((_resolve, reject) => {
            abortSignal.addEventListener('abort', () => {
              aborted.resolve()
              reject(new Error('aborted'))
            })
            setImmediate(() => leaving.abort())
          }),
      },
    }
    const result = await connect(server).session('s1').send('hi', { tools, abortSignal: leaving.signal }).result()
    expect(result).toMatchObject({ status: 'error', error: { code: 'reading-aborted' } })
    await aborted.promise
    expect(sent(server)).toEqual([])
  })

  it('C16: a call that another reader answers settles here, and its tool is aborted', async () => {
    const server = await asking(calls.slice(0, 1))
    const session = connect(server).session('s1')
    const signals: AbortSignal[] = []
    const tools: ClientTools = {
      where_am_i: {
        // The tool ignores its signal: the run must not wait for it.
        execute: (_input, { abortSignal }) => {
          signals.push(abortSignal)
          void connect(server)
            .session('s1')
            .submitToolResults([{ toolCallId: 'c1', output: 'from elsewhere' }])
          return new Promise(() => undefined)
        },
      },
    }
    const result = await session.send('hi', { tools }).result()
    expect(result.status).toBe('completed')
    expect(sent(server)).toEqual([[{ toolCallId: 'c1', output: 'from elsewhere' }]])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('C16: a stop while a tool runs here ends the run', async () => {
    const server = await asking(calls.slice(0, 1))
    const run = { runId: 'r1', turn: 1 }
    server.onStop = () => server.add([{ type: 'turn-start', at: 1, ...run, resumed: true, attempt: 1 }, ...runEnd(run, 'aborted')])
    const session = connect(server).session('s1')
    const signals: AbortSignal[] = []
    const tools: ClientTools = {
      where_am_i: {
        execute: async (_input, { abortSignal }) => {
          signals.push(abortSignal)
          await session.stop()
          return new Promise(() => undefined)
        },
      },
    }
    expect((await session.send('hi', { tools }).result()).status).toBe('aborted')
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(sent(server)).toEqual([])
  })

  it('a result that the server refuses ends the reading with its code', async () => {
    const server = await asking(calls.slice(0, 1))
    server.intercept = ({ path }) => (path.endsWith('/tool-results') ? { status: 413, code: 'body-too-large' } : undefined)
    const result = await connect(server)
      .session('s1')
      .send('hi', { tools: { where_am_i: { execute: () => 'x' } } })
      .result()
    expect(result).toMatchObject({ status: 'error', error: { code: 'body-too-large' } })
  })
})
