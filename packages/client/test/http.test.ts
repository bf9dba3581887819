import { describe, expect, it } from 'vitest'
import { answering, savePoint } from './support/answering.ts'
import { JumpingClock } from './support/jumping-clock.ts'
import { collect, connect, startServer } from './support/setup.ts'

const nowhere = { url: 'http://127.0.0.1:1' }

describe('silence', () => {
  const body = (pull: UnderlyingDefaultSource<Uint8Array>['pull']) =>
    new ReadableStream<Uint8Array>({ ...(pull && { pull }) }, { highWaterMark: 0 })
  const silent = () => body(() => new Promise(() => undefined))
  const types: readonly (readonly [string, () => Promise<Response>])[] = [
    ['no headers', () => new Promise(() => undefined)],
    ['an answer that stands still', () => Promise.resolve(new Response(silent()))],
    ['a refusal that stands still', () => Promise.resolve(new Response(silent(), { status: 400 }))],
  ]

  /** Returns a fetch that gives this answer once, and then correct ones. It observes its signal like a real one. */
  function once(first: () => Promise<Response>): typeof fetch {
    let left = 1
    return async (_input, init) => {
      if (left-- <= 0) return Response.json({ agents: [{ id: 'demo' }] })
      const signal = init?.signal as AbortSignal
      const aborted = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      const response = await Promise.race([first(), aborted])
      const text = () => Promise.race([Response.prototype.text.call(response), aborted])
      return Object.assign(response, { text })
    }
  }

  it.each(types)('C6: %s for 45 seconds is a lost connection, and the request is made again', async (_what, first) => {
    const clock = new JumpingClock(45_000)
    const client = connect(nowhere, { fetch: once(first), clock, random: () => 0.5 })
    expect(await client.agents()).toEqual([{ id: 'demo' }])
    expect(clock.waitsMs).toEqual([45_000, 125])
  })

  it('C6: the error says how long the silence was', async () => {
    const clock = new JumpingClock(5000)
    const fetch: typeof globalThis.fetch = (_input, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)))
    const client = connect(nowhere, { fetch, clock, reconnect: { silenceMs: 5000, maxDownMs: 4000 } })
    const error: unknown = await client.agents().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'disconnected',
      message: expect.stringContaining('4000 ms') as string,
      cause: { code: 'network', message: expect.stringContaining('5000 ms') as string },
    })
  })

  it('C6: a stream with a comment in time is not lost', async () => {
    let reads = 0
    const quiet = answering([[': one\n\n', ': two\n\n', savePoint(1)]])
    const fetch: typeof globalThis.fetch = (...given) => (++reads, quiet(...given))
    const session = connect(nowhere, { fetch, clock: new JumpingClock(44_999) }).session('s1')
    const events = session.attach()[Symbol.asyncIterator]()
    expect((await events.next()).value).toMatchObject({ seq: 1 })
    await events.return?.()
    expect(reads).toBe(1)
  })
})

describe('requests', () => {
  it('C21: a request declares the types it accepts, and a body only if it has one; no cache answers it', async () => {
    const asked: (RequestInit & { readonly url: string })[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      asked.push({ ...init, url: (input as string).replace(nowhere.url, '') })
      return Promise.resolve(
        asked.length < 3
          ? Response.json({})
          : new Response('data: {"type":"stream-end","reason":"deleted","resume":false}\n\n', {
              headers: { 'content-type': 'text/event-stream' },
            }),
      )
    }
    const session = connect(nowhere, { fetch }).session('s1')
    await session.state()
    await session.stop({ waitMs: 0 })
    const post = {
      method: 'POST',
      url: '/api/agent/session/s1/stop',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
    }
    await collect(session.attach())
    expect(asked.map(({ method, url, headers, cache, body }) => ({ method, url, headers, cache, body }))).toEqual([
      { method: 'GET', url: '/api/agent/session/s1', headers: { accept: 'application/json' }, cache: 'no-store', body: undefined },
      { ...post, cache: 'no-store', body: '{"waitMs":0}' },
      {
        method: 'GET',
        url: '/api/agent/session/s1/events?deltas=short',
        headers: { accept: 'text/event-stream, application/x-ndjson' },
        cache: 'no-store',
        body: undefined,
      },
    ])
  })

  it('C9: the body of a refusal is discarded when a new token is used', async () => {
    let isLeft = false
    let left = 1
    const refused = () => new Response(new ReadableStream({ cancel: () => void (isLeft = true) }), { status: 401 })
    const fetch: typeof globalThis.fetch = () => Promise.resolve(left-- > 0 ? refused() : Response.json({ agents: [] }))
    expect(await connect(nowhere, { fetch, token: () => 't' }).agents()).toEqual([])
    expect(isLeft).toBe(true)
  })

  it.each([5, null, 'a\nb', undefined])('C9: a token function that returns %j has failed', async (given) => {
    const asked: unknown[] = []
    const fetch: typeof globalThis.fetch = () => (asked.push(1), Promise.resolve(Response.json({ agents: [] })))
    await expect(connect(nowhere, { fetch, token: () => given as never }).agents()).rejects.toMatchObject({
      code: 'token-failed',
      retryable: false,
    })
    expect(asked).toEqual([])
  })
})

describe('refusals', () => {
  const answerWith = (answer: () => Response): Promise<unknown> =>
    connect(nowhere, { fetch: () => Promise.resolve(answer()) })
      .agents()
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      )

  it.each([300, 302, 399])('C21: %i is a redirect, which is not followed and not read', async (status) => {
    let isLeft = false
    const body = new ReadableStream({ cancel: () => void (isLeft = true) })
    const answer = Object.defineProperty(new Response(body, { status: 400 }), 'status', { value: status })
    expect(await answerWith(() => answer)).toMatchObject({ code: 'redirect-refused', status, retryable: false })
    expect(isLeft).toBe(true)
  })

  it('C21: a redirect that a browser hides counts too', async () => {
    const hidden = () =>
      Object.defineProperties(new Response(null), { type: { value: 'opaqueredirect' }, status: { value: 0 }, ok: { value: false } })
    expect(await answerWith(hidden)).toMatchObject({ code: 'redirect-refused' })
  })

  it.each([
    ['no JSON', '<h1>Bad gateway</h1>', 'The server answered with status 418.'],
    ['null', 'null', 'The server answered with status 418.'],
    ['no code', '{"code":5,"detail":"x"}', 'The server answered with status 418.'],
    [
      'more than a problem can have',
      JSON.stringify({ code: 'busy', detail: 'x'.repeat(1024 * 1024) }),
      'The server answered with status 418.',
    ],
  ])('C9: a refusal of %s is reported by its status', async (_what, text, message) => {
    const error = await answerWith(() => new Response(text, { status: 418 }))
    expect(error).toMatchObject({ code: 'invalid-answer', message, status: 418, retryable: false })
    expect(error).not.toHaveProperty('problem.code')
  })

  it('C9: a problem of exactly the maximum length is read', async () => {
    const problem = { code: 'busy', detail: '' }
    const detail = 'x'.repeat(1024 * 1024 - JSON.stringify(problem).length)
    expect(await answerWith(() => new Response(JSON.stringify({ ...problem, detail }), { status: 409 }))).toMatchObject({
      code: 'busy',
      status: 409,
      problem: { code: 'busy' },
    })
  })

  it('C5: an answer that is not JSON gives an error with its status', async () => {
    expect(await answerWith(() => new Response('{', { status: 200 }))).toMatchObject({
      code: 'invalid-answer',
      status: 200,
      cause: expect.any(SyntaxError) as unknown,
    })
  })
})

describe('answers of 500 and more', () => {
  const statusOf = async (status: number, problem: object | undefined): Promise<number> => {
    const server = await startServer()
    server.exists = true
    let left = 1
    server.intercept = (_seen, response) => {
      if (left-- <= 0) return undefined
      response.writeHead(status, { 'content-type': problem ? 'application/problem+json' : 'text/plain' })
      response.end(problem ? JSON.stringify({ code: 'internal', detail: 'broken', status, ...problem }) : 'broken')
      return 'handled'
    }
    await connect(server)
      .session('s1')
      .state()
      .catch(() => undefined)
    return server.seen.length
  }

  it.each([
    [500, { retryable: true }, 2],
    [500, { retryable: false }, 1],
    [500, {}, 1],
    [500, undefined, 1],
    [507, { retryable: true }, 2],
    [429, undefined, 2],
    [502, undefined, 2],
    [503, undefined, 2],
    [504, undefined, 2],
    [400, { retryable: true }, 1],
  ])('C9: %i with %o is tried %i times', async (status, problem, times) => {
    expect(await statusOf(status, problem)).toBe(times)
  })
})
