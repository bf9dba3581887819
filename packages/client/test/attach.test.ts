import type { ServerResponse } from 'node:http'
import { emptyView } from '@bowline/agent-loop/events'
import { describe, expect, it } from 'vitest'
import { foldEvent, type ClientEvent, type Clock, type Connection } from '../src/index.ts'
import { runEnd, runStart, textRun, textStep } from './support/events.ts'
import { JumpingClock } from './support/jumping-clock.ts'
import { collect, collectUntil, connect, startServer } from './support/setup.ts'
import type { WireServer } from './support/wire-server.ts'

const words = ['one ', 'two ', 'three']
const isSettled = (event: ClientEvent): boolean => event.type === 'settled'

async function holding(runs: number): Promise<WireServer> {
  const server = await startServer()
  server.exists = true
  for (let turn = 1; turn <= runs; turn++) server.add(textRun({ runId: `r${turn}`, turn }, `hello ${turn}`, words))
  return server
}

function eventStream(response: ServerResponse, text: string): 'handled' {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(text)
  return 'handled'
}

describe('attach', () => {
  it('reads over all runs of the session, and another reader continues at its cursor', async () => {
    const server = await holding(2)
    const session = connect(server).session('s1')
    const reader = session.attach({ from: 'start' })
    const first = await collectUntil(reader, isSettled)
    const rest = await collectUntil(session.attach({ cursor: String(reader.cursor) }), isSettled)
    expect([...first, ...rest].reduce(foldEvent, emptyView)).toEqual(server.view())
  })

  it('C6: waits grow from a window that doubles, with jitter, up to the longest', async () => {
    const clock = new JumpingClock(30_000)
    const client = connect({ url: 'http://127.0.0.1:1' }, { fetch: () => Promise.reject(new TypeError('down')), clock, random: () => 0.5 })
    await expect(collect(client.session('s1').attach())).rejects.toMatchObject({ code: 'disconnected', retryable: true })
    expect(clock.waitsMs.slice(0, 8)).toEqual([125, 250, 500, 1000, 2000, 4000, 5000, 5000])
    expect(clock.waitsMs.reduce((sum, ms) => sum + ms)).toBe(120_000)
  })

  it('C6: retry: and Retry-After win over a shorter wait', async () => {
    const server = await holding(1)
    let tries = 0
    server.preamble = 'retry: 2000\n: ready\n\n'
    server.intercept = ({ path }) => {
      if (!path.endsWith('/events')) return undefined
      return ++tries === 1 ? { status: 503, code: 'draining', headers: { 'retry-after': '7' } } : undefined
    }
    server.cuts = [100]
    const clock = new JumpingClock(30_000)
    const waits: number[] = []
    const onConnection = (connection: Connection): void => {
      if (connection.state === 'waiting') waits.push(connection.nextTryAt - clock.now())
    }
    const session = connect(server, { clock, random: () => 0.999 }).session('s1')
    await collectUntil(session.attach({ from: 'start', onConnection }), isSettled)
    expect(waits).toEqual([7000, 2000])
  })

  it('C6: a wait that exceeds the time limit is not begun', async () => {
    const server = await holding(1)
    server.intercept = () => ({ status: 429, code: 'rate-limited', headers: { 'retry-after': '300' } })
    const clock = new JumpingClock(30_000)
    await expect(collect(connect(server, { clock }).session('s1').attach())).rejects.toMatchObject({ code: 'rate-limited', status: 429 })
    expect(clock.waitsMs).toEqual([])
  })

  it('C6: silence for too long counts as a lost connection', async () => {
    const server = await holding(1)
    let streams = 0
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/events') || ++streams > 1) return undefined
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': ready\n\n')
      return 'handled'
    }
    const timers = new Set<() => void>()
    const passAll = (): void => timers.forEach((run) => run())
    const clock: Clock = {
      now: () => 0,
      setTimer: (_at, run) => {
        timers.add(run)
        return () => timers.delete(run)
      },
    }
    const session = connect(server, { clock }).session('s1')
    const onConnection = ({ state }: Connection): void => {
      if (state === 'waiting' || (state === 'open' && streams === 1)) setTimeout(passAll)
    }
    const iterator = session.attach({ from: 'start', onConnection })[Symbol.asyncIterator]()
    expect((await iterator.next()).value).toMatchObject({ type: 'run-queued', seq: 1 })
    expect(streams).toBe(2)
    await iterator.return?.()
  })

  it('C8: an event that the transport delivers twice is returned once', async () => {
    const server = await holding(0)
    await server.play(textRun({ runId: 'r1', turn: 1 }, 'hello', words))
    const text = server.frames.map(({ id, event }) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`)
    const streams = [text.slice(0, 8), text]
    server.intercept = ({ path }, response) => {
      return path.endsWith('/events') ? eventStream(response, streams.shift()?.join('') ?? '') : undefined
    }
    const read = await collectUntil(connect(server).session('s1').attach({ from: 'start' }), isSettled)
    expect(streams).toEqual([])
    expect(read).toEqual(server.frames.map(({ event }) => event))
  })

  it.each([400, 403, 404, 409, 410, 413, 422])('C9: %i is not retried', async (status) => {
    const server = await holding(1)
    server.intercept = () => ({ status, code: 'refused' })
    const client = connect(server)
    await expect(collect(client.session('s1').attach())).rejects.toMatchObject({ status, code: 'refused', retryable: false })
    await expect(client.agents()).rejects.toMatchObject({ status })
    await expect(client.session('s1').stop()).rejects.toMatchObject({ status })
    expect((await client.session('s1').send('hi').result()).error).toMatchObject({ code: 'refused' })
    expect(server.seen).toHaveLength(4)
  })

  it.each([429, 503])('C9: %i is retried within the limit', async (status) => {
    const server = await holding(1)
    let left = 3
    server.intercept = () => (left-- > 0 ? { status, code: 'later' } : undefined)
    expect((await connect(server).session('s1').state()).messages).toHaveLength(2)
    expect(server.seen).toHaveLength(4)
    server.intercept = () => ({ status, code: 'later', retryAfterMs: 10_000 })
    const clock = new JumpingClock(30_000)
    await expect(connect(server, { clock }).session('s1').state()).rejects.toMatchObject({ code: 'later' })
    expect(clock.waitsMs.length).toBe(12)
  })

  it('C9: 401 asks the token function once more, then fails', async () => {
    const server = await holding(1)
    const good = 'Bearer good'
    server.intercept = ({ headers }) => (headers.authorization === good ? undefined : { status: 401, code: 'unauthenticated' })
    const tokens = ['old', 'good']
    let asked = 0
    const renewing = connect(server, { token: () => tokens[Math.min(asked++, 1)] ?? '' })
    expect((await renewing.session('s1').state()).sessionId).toBe('s1')
    expect(asked).toBe(2)
    let wrong = 0
    const failing = connect(server, {
      token: async () => {
        wrong++
        return 'bad'
      },
    })
    await expect(failing.session('s1').state()).rejects.toMatchObject({ status: 401, code: 'unauthenticated' })
    expect(wrong).toBe(2)
    server.seen.length = 0
    await expect(connect(server, { token: 'bad' }).session('s1').state()).rejects.toMatchObject({ status: 401 })
    expect(server.seen).toHaveLength(1)
  })

  it('C5: a token function that fails when a lost stream reconnects is asked again within the limit, and fails a first connection', async () => {
    const server = await holding(1)
    server.cuts = [100]
    let asked = 0
    const token = async (): Promise<string> => {
      asked += 1
      if (asked === 2 || asked === 3) throw new TypeError('no network')
      return 't'
    }
    const late = { clock: new JumpingClock(30_000), random: () => 0.5 }
    const events = await collectUntil(
      connect(server, { ...late, token })
        .session('s1')
        .attach({ from: 'start' }),
      isSettled,
    )
    expect([asked, events.reduce(foldEvent, emptyView)]).toEqual([4, server.view()])

    server.cuts = [100]
    let later = 0
    const gone = async (): Promise<string> => {
      if (later++ > 0) throw new TypeError('no keychain')
      return 't'
    }
    await expect(
      collectUntil(
        connect(server, { ...late, token: gone })
          .session('s1')
          .attach({ from: 'start' }),
        isSettled,
      ),
    ).rejects.toMatchObject({ code: 'token-failed' })
    const tries = later
    expect(tries).toBeGreaterThan(3)
    await expect(
      collect(
        connect(server, { ...late, token: gone })
          .session('s1')
          .attach(),
      ),
    ).rejects.toMatchObject({ code: 'token-failed' })
    expect(later).toBe(tries + 1)
  })

  it('C10: an expired cursor loads the state, replaces the fold with one notice, and continues after it', async () => {
    const server = await holding(3)
    server.intercept = ({ path, query }) =>
      path.endsWith('/events') && query.get('cursor') === '2' ? { status: 410, code: 'cursor-expired' } : undefined
    const events = connect(server).session('s1').attach({ cursor: '2' })[Symbol.asyncIterator]()
    const notice = await events.next()
    expect(notice.value).toMatchObject({ type: 'resync', state: { sessionId: 's1' } })
    server.add(textRun({ runId: 'r4', turn: 4 }, 'more', words))
    let view = foldEvent(emptyView, notice.value as ClientEvent)
    for (;;) {
      const { value } = await events.next()
      expect(value?.type).not.toBe('resync')
      view = foldEvent(view, value as ClientEvent)
      if (value?.type === 'settled') break
    }
    await events.return?.()
    expect(view.messages).toEqual(server.view().messages)
    expect(view.gap).toBe(false)
  })

  it('C10: a cursor that is refused again at once is an error', async () => {
    const server = await holding(1)
    server.intercept = ({ path }) => (path.endsWith('/events') ? { status: 410, code: 'cursor-expired' } : undefined)
    await expect(collect(connect(server).session('s1').attach({ cursor: '1' }))).rejects.toMatchObject({ code: 'cursor-expired' })
    expect(server.requests('GET', '/events')).toHaveLength(2)
  })

  it('C10: all pages of the messages are loaded', async () => {
    const server = await holding(3)
    server.intercept = ({ path, query }, response) => {
      if (path.endsWith('/events')) return { status: 410, code: 'cursor-expired' }
      const { messages, ...state } = server.state()
      const end = messages.findIndex((message) => message.id === query.get('before'))
      const rest = end === -1 ? messages : messages.slice(0, end)
      response.end(JSON.stringify({ ...state, messages: rest.slice(-4), hasMore: rest.length > 4 }))
      return 'handled'
    }
    const [notice] = await collectUntil(connect(server).session('s1').attach({ cursor: '1' }), () => true)
    expect(foldEvent(emptyView, notice as ClientEvent).messages).toEqual(server.view().messages)
  })

  it('C16: two readers of one session end with the same state', async () => {
    const server = await holding(0)
    const readers = [1, 2].map(() => collectUntil(connect(server).session('s1').attach({ from: 'start' }), isSettled))
    await expect.poll(() => server.openStreams).toBe(2)
    await server.play(textRun({ runId: 'r1', turn: 1 }, 'hello', words))
    const [one, two] = await Promise.all(readers)
    expect(one).toEqual(two)
  })

  it('C5: after a planned end with resume it reconnects, an end without resume ends the reading', async () => {
    const server = await holding(1)
    const ends = ['max-age', 'deleted']
    server.intercept = ({ path, query }, response) => {
      if (!path.endsWith('/events')) return undefined
      const reason = ends.shift()
      const seq = Number(query.get('cursor') ?? 0) + 1
      const event = { type: 'save-point', at: 1, runId: 'r1', turn: 1, seq }
      const frames = [event, { type: 'stream-end', reason, resume: reason === 'max-age' }]
      return eventStream(response, frames.map((frame) => `id: ${seq}\ndata: ${JSON.stringify(frame)}\n\n`).join(''))
    }
    const clock = new JumpingClock(30_000)
    const events = await collect(connect(server, { clock }).session('s1').attach())
    expect(events.map((event) => event.type)).toEqual(['save-point', 'save-point'])
    expect(clock.waitsMs).toEqual([])
  })

  it('C5: until settled, an answer without content ends the reading', async () => {
    const server = await holding(0)
    server.intercept = (_seen, response) => {
      response.writeHead(204).end()
      return 'handled'
    }
    expect(await collect(connect(server).session('s1').attach({ until: 'settled' }))).toEqual([])
    expect(server.seen[0]?.query.get('until')).toBe('settled')
  })

  it('an answer that is not an event stream is an error and not retried', async () => {
    const server = await holding(0)
    server.intercept = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>')
      return 'handled'
    }
    await expect(collect(connect(server).session('s1').attach())).rejects.toMatchObject({ code: 'invalid-answer' })
    await expect(connect(server).session('s1').state()).rejects.toMatchObject({ code: 'invalid-answer' })
    server.intercept = (_seen, response) => eventStream(response, 'id: 1\ndata: {oops\n\n')
    await expect(collect(connect(server).session('s1').attach())).rejects.toMatchObject({ code: 'invalid-answer' })
    expect(server.seen).toHaveLength(3)
  })

  it('C5: a stream error of the server is retried if the server says so', async () => {
    const server = await holding(1)
    let streams = 0
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/events') || ++streams > 2) return undefined
      const problem = { code: 'store-unavailable', detail: 'gone', status: 503, retryable: true }
      return eventStream(response, `id: 0\ndata: ${JSON.stringify({ type: 'stream-error', problem })}\n\n`)
    }
    const read = await collectUntil(connect(server).session('s1').attach({ from: 'start' }), isSettled)
    expect(read.reduce(foldEvent, emptyView).messages).toHaveLength(2)
    streams = 0
    server.intercept = ({ path }, response) => {
      const problem = { code: 'internal', detail: 'broken', status: 500, retryable: false }
      return path.endsWith('/events') ? eventStream(response, `data: ${JSON.stringify({ type: 'stream-error', problem })}\n\n`) : undefined
    }
    await expect(collect(connect(server).session('s1').attach())).rejects.toMatchObject({ code: 'internal' })
  })

  it('C24: the connection reports its state, and the time of the next try', async () => {
    const server = await holding(0)
    server.add([...runStart({ runId: 'r1', turn: 1 }, 'hi'), ...textStep({ runId: 'r1', turn: 1 }, 1, words)])
    server.cuts = [300]
    const clock = new JumpingClock(30_000)
    const said: Connection[] = []
    const session = connect(server, { clock, random: () => 0.4 }).session('s1')
    const events = session.attach({ from: 'start', onConnection: (connection) => said.push(connection) })[Symbol.asyncIterator]()
    expect(said).toEqual([])
    while ((await events.next()).value?.type !== 'step-end');
    const nextTryAt = 1_000_000 + 100
    expect(said).toEqual([
      ...[{ state: 'connecting' }, { state: 'open' }, { state: 'waiting', nextTryAt }],
      ...[{ state: 'connecting' }, { state: 'open' }],
    ])
    await events.return?.()
    expect(said.at(-1)).toEqual({ state: 'closed' })
    await expect.poll(() => server.openStreams).toBe(0)
  })

  it('C18: online and visible end the wait; where these events are absent nothing breaks', async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'hidden' })
    const browser = new EventTarget()
    const listening: string[] = []
    const add = (type: string, run: EventListener): void => {
      listening.push(type)
      browser.addEventListener(type, run)
    }
    const remove = (type: string, run: EventListener): void => {
      listening.splice(listening.indexOf(type), 1)
      browser.removeEventListener(type, run)
    }
    const server = await holding(1)
    let refusals = 2
    server.intercept = ({ path }) =>
      path.endsWith('/events') && refusals-- > 0 ? { status: 503, code: 'draining', retryAfterMs: 60_000 } : undefined
    Object.assign(globalThis, { document: page, addEventListener: add, removeEventListener: remove })
    try {
      const waits: number[] = []
      const onConnection = ({ state }: Connection): void => {
        if (state !== 'waiting') return
        waits.push(1)
        setImmediate(() => {
          if (waits.length === 1) browser.dispatchEvent(new Event('online'))
          page.dispatchEvent(new Event('visibilitychange'))
          page.visibilityState = 'visible'
          page.dispatchEvent(new Event('visibilitychange'))
        })
      }
      const read = await collectUntil(connect(server).session('s1').attach({ from: 'start', onConnection }), isSettled)
      expect(read.at(-1)?.type).toBe('settled')
      expect(waits).toHaveLength(2)
      expect(listening).toEqual([])
    } finally {
      for (const name of ['document', 'addEventListener', 'removeEventListener']) Reflect.deleteProperty(globalThis, name)
    }
  })

  it('leaves no timer and no listener when the reader leaves during a wait', async () => {
    const leaving = new AbortController()
    const client = connect({ url: 'http://127.0.0.1:1' }, { fetch: () => Promise.reject(new TypeError('down')), random: () => 0.5 })
    const onConnection = ({ state }: Connection): void => {
      if (state === 'waiting') setImmediate(() => leaving.abort())
    }
    expect(await collect(client.session('s1').attach({ abortSignal: leaving.signal, onConnection }))).toEqual([])
  })

  it('a run that was stopped before it began has ended', async () => {
    const server = await startServer()
    server.onRun = (runId) =>
      server.add([...runStart({ runId, turn: 1 }, 'hi').slice(0, 1), ...runEnd({ runId, turn: 1 }, 'aborted').slice(0, 1)])
    const clock = new JumpingClock(5_000)
    const result = await connect(server, { clock }).session('s1').send('hi').result()
    expect(result.status).toBe('aborted')
  })
})
