import { emptyView, type AgentEvent } from '@bowline/agent-loop/events'
import fc from 'fast-check'
import { randomRuns } from '../../../scripts/test-length.ts'
import { describe, expect, it } from 'vitest'
import { foldEvent, type ClientEvent } from '../src/index.ts'
import { askStep, pendingCall, resultOf, runEnd, runStart, textRun, textStep } from './support/events.ts'
import { collect, connect, startServer } from './support/setup.ts'
import type { WireServer } from './support/wire-server.ts'

const words = ['The ', 'knot ', 'holds ', 'under ', 'any løad 🪢.']

async function answering(): Promise<WireServer> {
  const server = await startServer()
  server.onRun = (runId) => server.play(textRun({ runId, turn: 1 }, 'hello', words))
  return server
}

const typesOf = (events: readonly ClientEvent[]): string[] => events.map((event) => event.type)

describe('run', () => {
  it('returns the events of the run in order, and its result', async () => {
    const server = await answering()
    const run = connect(server).session('s1').send('hello')
    expect(typesOf(await collect(run))).toEqual([
      ...['run-queued', 'user-message', 'turn-start', 'step-start', 'message-start', 'text-start'],
      ...words.map(() => 'text-delta'),
      ...['text-end', 'message-end', 'step-end', 'turn-end', 'save-point'],
    ])
    const result = await run.result()
    expect(result).toMatchObject({ sessionId: 's1', runId: 'r1', status: 'completed', usage: { totalTokens: 8 } })
    expect(result.messages.map((message) => message.role)).toEqual(['user', 'assistant'])
    expect(run.runId).toBe('r1')
  })

  it('C4: result() settles without an iteration, and a late iteration gets the events', async () => {
    const server = await answering()
    const run = connect(server).session('s1').send('hello')
    expect((await run.result()).status).toBe('completed')
    expect(typesOf(await collect(run))).toContain('message-end')
  })

  it('C4: result() may be awaited within the iteration', async () => {
    const server = await answering()
    const run = connect(server).session('s1').send('hello')
    const seen: ClientEvent[] = []
    for await (const event of run) {
      if (seen.length === 0) expect((await run.result()).status).toBe('completed')
      seen.push(event)
    }
    expect(typesOf(seen)).toContain('save-point')
  })

  it('C4: an iteration left early ends the reading; result() resumes it', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.add([...runStart({ runId, turn: 1 }, 'hi'), ...textStep({ runId, turn: 1 }, 1, words)])
    const run = connect(server).session('s1').send('hi')
    const first: ClientEvent[] = []
    for await (const event of run) {
      first.push(event)
      if (event.type === 'message-start') break
    }
    await expect.poll(() => server.openStreams).toBe(0)
    server.add(runEnd({ runId: 'r1', turn: 1 }, 'completed'))
    const result = await run.result()
    expect(result.status).toBe('completed')
    const all = [...first, ...(await collect(run))]
    expect(all.reduce(foldEvent, emptyView).messages).toEqual(server.view().messages)
  })

  it('C4: memory stays bounded when result() is awaited without an iteration, and a late iteration gets all text in deltas', async () => {
    const server = await startServer()
    const many = Array.from({ length: 8_000 }, () => 'x'.repeat(100))
    server.onRun = (runId) => server.add(textRun({ runId, turn: 1 }, 'hi', many))
    const run = connect(server).session('s1').send('hi')
    const result = await run.result()
    const kept = await collect(run)
    const deltas = kept.flatMap((event) => (event.type === 'text-delta' ? event.delta : []))
    expect(deltas.length).toBeLessThan(4_000)
    expect(deltas.join('')).toBe(many.join(''))
    expect(kept.reduce(foldEvent, emptyView).messages).toEqual(result.messages)
    expect(result.messages).toEqual(server.view().messages)
  })

  it('C3: result() never rejects: a model failure is a status with its error', async () => {
    const server = await startServer()
    const error = { kind: 'rate-limit', message: 'slow down', retryable: true } as never
    server.onRun = (runId) => {
      const [end, save] = runEnd({ runId, turn: 1 }, 'aborted')
      server.add([...runStart({ runId, turn: 1 }, 'hi'), { ...end, status: 'error', reason: 'model-error', error } as never, save as never])
    }
    const result = await connect(server).session('s1').send('hi').result()
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'rate-limit' } })
    expect(result.failure).toBeUndefined()
  })

  it('an input keeps its given id and headers on every try', async () => {
    const server = await answering()
    let losses = 1
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/execute') || losses-- <= 0) return undefined
      response.destroy()
      return 'handled'
    }
    const run = connect(server)
      .session('s1')
      .send('hello', { id: 'r-7', headers: { 'x-depth': '2', 'idempotency-key': 'other' } })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const tries = server.requests('POST', '/execute').map(({ headers }) => [headers['idempotency-key'], headers['x-depth']])
    expect(tries.length).toBeGreaterThan(1)
    expect(new Set(tries.map(String))).toEqual(new Set(['r-7,2']))
  })

  it('a failed reading keeps every field from the server, a failed run does not', async () => {
    const server = await answering()
    server.intercept = ({ path }) => (path.endsWith('/execute') ? { status: 422, code: 'id-reused' } : undefined)
    const { failure } = await connect(server).session('s1').send('hello').result()
    expect(failure).toMatchObject({ code: 'id-reused', status: 422, retryable: false, problem: { code: 'id-reused' } })
  })

  it('C3: a refusal is a status with the code of the problem, and the iteration ends', async () => {
    const server = await answering()
    server.intercept = ({ path }) => (path.endsWith('/execute') ? { status: 409, code: 'busy' } : undefined)
    const run = connect(server).session('s1').send('hello')
    expect(await collect(run)).toEqual([])
    expect(await run.result()).toMatchObject({ status: 'error', error: { code: 'busy' }, messages: [] })
    expect(await run.accepted()).toMatchObject({ ok: false, error: { code: 'busy' } })
  })

  it('C3: invalid arguments throw', () => {
    const client = connect({ url: 'http://127.0.0.1:1' })
    expect(() => client.session('../other')).toThrowError(expect.objectContaining({ code: 'invalid-input' }))
    expect(() => client.session('s1').send({ role: 'user', content: 1n as never })).toThrowError(
      expect.objectContaining({ code: 'invalid-input' }),
    )
    expect(() => connect({ url: 'ftp://host' })).toThrowError(expect.objectContaining({ code: 'invalid-config' }))
    expect(() => connect({ url: 'http://user@host' })).toThrowError(expect.objectContaining({ code: 'invalid-config' }))
  })

  it('C5, C8: cut at any byte, any number of times, the run ends with the same fold and no event comes twice', async () => {
    const whole = await collect(
      connect(await answering())
        .session('s1')
        .send('hello'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(2_500), { minLength: 1, maxLength: 6 }), fc.constantFrom(1, 7, 4096), async (cuts, chunk) => {
        const server = await answering()
        server.cuts = [...cuts]
        server.chunkBytes = chunk
        const run = connect(server).session('s1').send('hello')
        const events: ClientEvent[] = []
        let view = emptyView
        for await (const event of run) {
          events.push(event)
          view = foldEvent(view, event)
          for (const block of view.open?.blocks ?? []) expect('text' in block && words.join('').startsWith(block.text)).toBe(true)
        }
        const durable = events.filter((event) => 'seq' in event && event.seq !== undefined)
        expect(durable).toEqual(whole.filter((event) => 'seq' in event && event.seq !== undefined))
        expect(events.reduce(foldEvent, emptyView)).toEqual(whole.reduce(foldEvent, emptyView))
        expect((await run.result()).status).toBe('completed')
        await server.close()
      }),
      randomRuns(60),
    )
  })

  it('C5: a stream that ends cleanly without a last frame is an interruption', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.add(runStart({ runId, turn: 1 }, 'hi'))
    let streams = 0
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/events') || ++streams > 1) return undefined
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('id: 3\ndata: {"type":"step-start","seq":4,"at":1,"runId":"r1","turn":1,"step":1,"model":{}}\n\n')
      server.add(textRun({ runId: 'r1', turn: 1 }, 'hi', words).slice(3))
      return 'handled'
    }
    server.cuts = [400]
    const result = await connect(server).session('s1').send('hi').result()
    expect(result.status).toBe('completed')
    expect(streams).toBe(2)
  })

  it('C5: continues after the last cursor, not from the start', async () => {
    const server = await answering()
    server.cuts = [900]
    await connect(server).session('s1').send('hello').result()
    const [again] = server.requests('GET', '/events')
    expect(again?.query.get('cursor')).toMatch(/^[1-9]\d*(\.\d+)?$/)
  })

  it('C7: send uses one key for all its tries, and the connection may be lost before the answer', async () => {
    const server = await answering()
    let tries = 0
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/execute') || ++tries > 2) return undefined
      // The second try arrives. Only its answer is lost.
      if (tries === 2) server.exists = true
      response.destroy()
      return 'handled'
    }
    const result = await connect(server).session('s1').send('hello').result()
    expect(result.status).toBe('completed')
    const keys = server.requests('POST', '/execute').map((one) => one.headers['idempotency-key'])
    expect(new Set(keys).size).toBe(1)
    expect(keys.length).toBeGreaterThanOrEqual(3)
  })

  it('C7: if the connection is lost between the answer and the first event, the same key joins the run', async () => {
    const server = await answering()
    let runs = 0
    const onRun = server.onRun
    server.onRun = (runId, body) => {
      runs++
      onRun(runId, body)
    }
    server.cuts = [3, 9]
    const result = await connect(server).session('s1').send('hello').result()
    expect(result.status).toBe('completed')
    expect(runs).toBe(1)
  })

  it('C7: two sends are two inputs with two keys', async () => {
    const server = await answering()
    const session = connect(server).session('s1')
    await session.send('hello').result()
    await session.send('hello').result()
    const keys = server.requests('POST', '/execute').map((one) => one.headers['idempotency-key'])
    expect(new Set(keys).size).toBe(2)
  })

  it('names the agent only to a session that this input creates', async () => {
    const server = await answering()
    const session = connect(server).session('s1')
    await session.send('hello', { agent: 'demo', metadata: { from: 'test' } }).result()
    await session.send('hello', { agent: 'demo' }).result()
    const bodies = server.requests('POST', '/execute').map((one) => (one.body as { context?: unknown }).context)
    expect(bodies).toEqual([undefined, { agent: 'demo', metadata: { from: 'test' } }, undefined])
  })

  it('creates a new session without a request if it made the id', async () => {
    const server = await answering()
    const client = connect(server)
    const { id } = client.session()
    expect(id).toMatch(/^s_/)
    await expect(client.session(id).state()).rejects.toMatchObject({ code: 'session-missing' })
    expect(server.seen).toEqual([])
    await client.session(id).send('hello').result()
    expect(server.requests('POST', '/execute')).toHaveLength(1)
    expect(await client.session(id).state()).toMatchObject({ agent: 'demo' })
  })

  it('C14: abortSignal ends the reading, not the run', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.add(runStart({ runId, turn: 1 }, 'hi'))
    const leaving = new AbortController()
    const run = connect(server).session('s1').send('hi', { abortSignal: leaving.signal })
    for await (const event of run) if (event.type === 'turn-start') leaving.abort()
    expect(await run.result()).toMatchObject({ status: 'error', runId: 'r1', error: { code: 'reading-aborted' } })
    expect(server.requests('POST', '/stop')).toEqual([])
    await expect.poll(() => server.openStreams).toBe(0)
  })

  it('C14: stop() ends the run', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.add(runStart({ runId, turn: 1 }, 'hi'))
    server.onStop = () => server.add(runEnd({ runId: 'r1', turn: 1 }, 'aborted'))
    const session = connect(server).session('s1')
    const run = session.send('hi')
    for await (const event of run) if (event.type === 'turn-start') await session.stop()
    expect((await run.result()).status).toBe('aborted')
  })

  it('C17: reading is pulled: a consumer that stops slows down the socket', async () => {
    const server = await startServer()
    const pieces = Array.from({ length: 100 }, () => 'y'.repeat(100_000))
    server.onRun = (runId) => server.add(textRun({ runId, turn: 1 }, 'hi', pieces))
    let bytes = 0
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (!response.body || !(input as string).endsWith('/execute')) return response
      const counted = response.body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, controller) => {
            bytes += chunk.length
            controller.enqueue(chunk)
          },
        }),
      )
      return new Response(counted, response)
    }
    const run = connect(server, { fetch: counting }).session('s1').send('hi')
    const iterator = run[Symbol.asyncIterator]()
    await iterator.next()
    await server.onceQuiet()
    expect(bytes).toBeLessThan(1_000_000)
    const rest = await collect({ [Symbol.asyncIterator]: () => iterator })
    expect(bytes).toBeGreaterThan(30_000_000)
    expect(typesOf(rest)).toContain('save-point')
  })

  it('C10: a log that was truncated during the run ends it with the outcome from the state', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.add(textRun({ runId, turn: 1 }, 'hello', words))
    server.cuts = [700]
    server.intercept = ({ path }) => (path.endsWith('/events') ? { status: 410, code: 'cursor-expired' } : undefined)
    const run = connect(server).session('s1').send('hello')
    const events = await collect(run)
    expect(typesOf(events).filter((type) => type === 'resync')).toHaveLength(1)
    expect(await run.result()).toMatchObject({ status: 'completed', messages: server.view().messages })
  })

  it.each(['in the answer', 'by the call of final_output'])(
    'C10, A191: after a truncated log the result has the output that was given %s',
    async (way) => {
      const server = await startServer()
      const output = { city: 'Oslo' }
      const call = pendingCall('c1', 'final_output', output)
      const answered = (event: AgentEvent): AgentEvent =>
        event.type === 'message-end' ? { ...event, message: { ...event.message, output } } : event
      server.onRun = (runId) => {
        const run = { runId, turn: 1 }
        if (way === 'in the answer') return server.add(textRun(run, 'where?', words).map(answered))
        const ended: AgentEvent = {
          type: 'tool-execution-end',
          at: 1,
          ...run,
          step: 1,
          toolCallId: 'c1',
          executed: 'here',
          message: { ...resultOf(call, 'ok'), details: { output } },
          durationMs: 0,
        }
        return server.add([...runStart(run, 'where?'), ...askStep(run, 1, [call]).slice(0, 3), ended, ...runEnd(run, 'completed')])
      }
      server.cuts = [700]
      server.intercept = ({ path }) => (path.endsWith('/events') ? { status: 410, code: 'cursor-expired' } : undefined)
      const run = connect(server).session('s1').send('where?')
      const events = await collect(run)
      expect(await run.result()).toMatchObject({ status: 'completed', output, text: '{"city":"Oslo"}' })
      expect(events.reduce(foldEvent, emptyView)).toMatchObject({
        output,
        toolCalls: server.view().toolCalls.map(({ durationMs: _took, ...known }) => known),
      })
    },
  )

  it('C10: the output of an earlier turn is not used for a turn without one', async () => {
    const server = await startServer()
    server.add(
      textRun({ runId: 'r0', turn: 1 }, 'before', words).map((event) =>
        event.type === 'message-end' ? { ...event, message: { ...event.message, output: { city: 'Oslo' } } } : event,
      ),
    )
    server.onRun = () => server.add(textRun({ runId: 'r1', turn: 2 }, 'hello', words))
    server.exists = true
    server.cuts = [700]
    server.intercept = ({ path }) => (path.endsWith('/events') ? { status: 410, code: 'cursor-expired' } : undefined)
    const result = await connect(server).session('s1').send('hello').result()
    expect(result).toMatchObject({ status: 'completed', text: words.join('') })
    expect(result).not.toHaveProperty('output')
  })

  it('C19: a frame of an unknown type is passed on as unknown and does not change the fold', async () => {
    const server = await startServer()
    const strange = { type: 'dream-start', at: 1, runId: 'r1', turn: 1 } as never
    server.onRun = (runId) => {
      const events = textRun({ runId, turn: 1 }, 'hi', words)
      server.add([...events.slice(0, 3), strange, ...events.slice(3)])
    }
    const events = await collect(connect(server).session('s1').send('hi'))
    expect(events.find((event) => event.type === 'unknown')).toMatchObject({ event: { type: 'dream-start', seq: 4 } })
    expect(events.reduce(foldEvent, emptyView)).toMatchObject({ status: 'completed', messages: server.view().messages })
  })

  it('C15: without a connection a send fails after maxDownMs and is not kept', async () => {
    let tries = 0
    const offline: typeof fetch = () => {
      tries++
      return Promise.reject(new TypeError('offline'))
    }
    const { JumpingClock } = await import('./support/jumping-clock.ts')
    const clock = new JumpingClock(30_000)
    const client = connect({ url: 'http://127.0.0.1:1' }, { fetch: offline, clock, random: () => 0.9 })
    const result = await client.session('s1').send('hi').result()
    expect(result).toMatchObject({ status: 'error', error: { code: 'disconnected' } })
    expect(clock.now()).toBe(1_000_000 + 120_000)
    const before = tries
    await new Promise((resolve) => setImmediate(resolve))
    expect(tries).toBe(before)
  })
})
