import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ClientError, type ClientEvent, type Clock } from '../src/index.ts'
import { onReturn } from '../src/on-return.ts'
import { Patience, reconnectOptions } from '../src/patience.ts'
import { answering, delta, savePoint, type Answer } from './support/answering.ts'
import { textRun } from './support/events.ts'
import { JumpingClock } from './support/jumping-clock.ts'
import { collect, connect, startServer } from './support/setup.ts'
import type { WireServer } from './support/wire-server.ts'

const nowhere = { url: 'http://127.0.0.1:1' }

/** Returns the waits of a reader until it gives up. Each wait is half of its backoff window. */
async function waitsOf(answers: readonly Answer[], clock = new JumpingClock(30_000)): Promise<readonly number[]> {
  const client = connect(nowhere, { fetch: answering(answers), clock, random: () => 0.5 })
  await expect(collect(client.session('s1').attach())).rejects.toMatchObject({ code: 'disconnected' })
  return clock.waitsMs
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Returns the numbers of the events that a reader gets from these answers. */
async function seqsOf(cursor: string, answers: readonly Answer[]): Promise<readonly unknown[]> {
  const client = connect(nowhere, { fetch: answering(answers), clock: new JumpingClock(30_000), random: () => 0.5 })
  const seen: unknown[] = []
  const reading = async (): Promise<void> => {
    for await (const event of client.session('s1').attach({ cursor }))
      seen.push('seq' in event ? event.seq : event.type === 'text-delta' ? event.delta : event.type)
  }
  await expect(reading()).rejects.toMatchObject({ code: 'disconnected' })
  return seen
}

describe('the time without contact', () => {
  it('C6: is counted from the last byte, even of a comment', async () => {
    const clock = new JumpingClock(30_000)
    const late = (): string => {
      clock.pass(100_000)
      return ': still here\n\n'
    }
    expect(sum(await waitsOf([[': ready\n\n', late]], clock))).toBe(120_000)
  })

  it('C6: is counted from the headers of an answer without a body', async () => {
    const clock = new JumpingClock(30_000)
    const down = answering([])
    let tries = 0
    const fetch: typeof globalThis.fetch = (...given) => (++tries === 20 ? answering([[]])(...given) : down(...given))
    const client = connect(nowhere, { fetch, clock, random: () => 0.5 })
    await expect(collect(client.session('s1').attach())).rejects.toMatchObject({ code: 'disconnected' })
    const before = sum(clock.waitsMs.slice(0, 19))
    expect(before).toBeGreaterThan(60_000)
    expect(sum(clock.waitsMs)).toBe(before + 120_000)
  })
})

describe('the wait of one request', () => {
  const clockOf = () => {
    const timers = new Set<() => void>()
    const clock: Clock = { now: () => 0, setTimer: (_at, run) => (timers.add(run), () => void timers.delete(run)) }
    return { clock, timers }
  }
  const patienceWith = (clock: Clock): Patience => new Patience({ reconnect: reconnectOptions({}), clock, random: () => 0.5 })
  const down = new ClientError('network', 'down', { retryable: true })

  it('C6: leaves no timer and no listener, however it ends', async () => {
    const { clock, timers } = clockOf()
    const patience = patienceWith(clock)
    const leaving = new AbortController()
    for (let count = 0; count < 3; count++) {
      const waiting = patience.wait(down, leaving.signal)
      expect([timers.size, getEventListeners(leaving.signal, 'abort').length]).toEqual([1, 1])
      for (const run of timers) run()
      await waiting
      expect([timers.size, getEventListeners(leaving.signal, 'abort').length]).toEqual([0, 0])
    }
    const waiting = patience.wait(down, leaving.signal)
    leaving.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'reading-aborted' })
    expect([timers.size, getEventListeners(leaving.signal, 'abort').length]).toEqual([0, 0])
  })

  it('C14: is not begun for a caller that has left', async () => {
    const { clock, timers } = clockOf()
    await expect(patienceWith(clock).wait(down, AbortSignal.abort('gone'))).rejects.toMatchObject({
      code: 'reading-aborted',
      cause: 'gone',
    })
    expect(timers.size).toBe(0)
  })

  it('C6: doubles up to the longest, and the last try is at the end of the time', async () => {
    const longest = Array.from({ length: 22 }, () => 5000)
    expect(await waitsOf([])).toEqual([125, 250, 500, 1000, 2000, 4000, ...longest, 2125])
  })

  it.each([
    ['120', undefined, [120_000]],
    ['121', undefined, []],
    [new Date(1_000_000 + 3000).toUTCString(), 9000, [3000]],
    [new Date(1_000_000 - 3000).toUTCString(), 9000, [0]],
    ['soon', 9000, [9000]],
    [undefined, 9000, [9000]],
    [undefined, undefined, [125]],
    ['0', undefined, [125]],
  ])('C6: follows Retry-After %s, else the problem: %s', async (header, retryAfterMs, waits) => {
    const server = await startServer()
    server.exists = true
    const clock = new JumpingClock(200_000)
    let left = 1
    server.intercept = () =>
      left-- > 0
        ? {
            status: 503,
            code: 'draining',
            ...(header !== undefined && { headers: { 'retry-after': header } }),
            ...(retryAfterMs !== undefined && { retryAfterMs }),
          }
        : undefined
    const client = connect(server, { clock, random: () => (waits[0] === 0 ? 0 : 0.5), reconnect: { silenceMs: 900_000 } })
    const asked = client.session('s1').state()
    if (waits.length === 0) await expect(asked).rejects.toMatchObject({ code: 'draining' })
    else expect(await asked).toMatchObject({ sessionId: 's1' })
    expect(clock.waitsMs).toEqual(waits)
  })
})

describe('a planned end by the server', () => {
  const end = (reason: string, resume: boolean): string => `id: 1\ndata: ${JSON.stringify({ type: 'stream-end', reason, resume })}\n\n`

  it('C5: reconnects at once only if an event came, and not to a server that shuts down', async () => {
    const [cut] = await waitsOf([[]])
    expect(
      (
        await waitsOf([
          [savePoint(1), end('max-age', true)],
          [savePoint(2), end('token-expired', true)],
        ])
      ).slice(0, 2),
    ).toEqual([cut, 250])
    expect((await waitsOf([[savePoint(1), end('drained', true)], []])).slice(0, 2)).toEqual([125, 250])
    expect((await waitsOf([[end('max-age', true)], [end('max-age', true)], []])).slice(0, 3)).toEqual([125, 250, 500])
  })

  it('C5: continues after the last cursor', async () => {
    const asked: string[] = []
    const fetching = answering([
      [savePoint(1), end('max-age', true)],
      [savePoint(2), end('deleted', false)],
    ])
    const fetch: typeof globalThis.fetch = (input, init) => (asked.push(new URL(input as string).search), fetching(input, init))
    expect((await collect(connect(nowhere, { fetch }).session('s1').attach({ from: 'start' }))).length).toBe(2)
    expect(asked).toEqual(['?from=start&deltas=short', '?cursor=1&deltas=short'])
  })
})

describe('a browser that comes back', () => {
  it('C18: the network alone, or a visible page, ends a wait; a hidden page does not', () => {
    const heard: string[] = []
    const place = (): EventTarget & { listeners: number } => {
      const target = Object.assign(new EventTarget(), { listeners: 0 })
      const { addEventListener, removeEventListener } = target
      const counted =
        (change: number, call: typeof addEventListener): typeof addEventListener =>
        (...given) => {
          target.listeners += change
          call.apply(target, given)
        }
      return Object.assign(target, {
        addEventListener: counted(1, addEventListener),
        removeEventListener: counted(-1, removeEventListener),
      })
    }
    const [browser, page] = [place(), Object.assign(place(), { visibilityState: 'hidden' })]
    Object.assign(globalThis, {
      document: page,
      addEventListener: browser.addEventListener,
      removeEventListener: browser.removeEventListener,
    })
    try {
      const leave = onReturn(() => heard.push('back'))
      page.dispatchEvent(new Event('visibilitychange'))
      expect(heard).toEqual([])
      page.visibilityState = 'visible'
      page.dispatchEvent(new Event('visibilitychange'))
      expect(heard).toHaveLength(1)
      browser.dispatchEvent(new Event('online'))
      expect(heard).toHaveLength(2)
      leave()
      page.dispatchEvent(new Event('visibilitychange'))
      browser.dispatchEvent(new Event('online'))
      expect([heard.length, browser.listeners, page.listeners]).toEqual([2, 0, 0])
    } finally {
      for (const name of ['document', 'addEventListener', 'removeEventListener']) Reflect.deleteProperty(globalThis, name)
    }
  })
})

describe('the end of a reading', () => {
  it.each(['AbortError', 'TimeoutError'])(
    'C5: a read that breaks with an %s is an interruption: only the own signal ends a reading',
    async (name) => {
      const broken = (): string => {
        throw new DOMException('The connection was aborted.', name)
      }
      expect(await seqsOf('0', [[savePoint(1), broken], [savePoint(2)]])).toEqual([1, 2])
    },
  )

  it('C9: a request that fails with an AbortError is made again', async () => {
    const server = await startServer()
    server.exists = true
    let left = 1
    const failing: typeof fetch = (...given) => (left-- > 0 ? Promise.reject(new DOMException('gone', 'AbortError')) : fetch(...given))
    expect((await connect(server, { fetch: failing }).session('s1').state()).sessionId).toBe('s1')
  })
})

describe('messages of failures', () => {
  it('C6: without an answer the error names the failure, at once and when the time is up', async () => {
    const broken = new TypeError('refused')
    const client = connect(nowhere, { fetch: () => Promise.reject(broken), clock: new JumpingClock(30_000), random: () => 0.5 })
    const error: unknown = await collect(client.session('s1').attach()).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'disconnected', retryable: true, cause: { code: 'network', retryable: true, cause: broken } })
  })

  it('C6: a failure within a stream gives the time to wait', async () => {
    const problem = { code: 'store-unavailable', detail: 'gone', status: 503, retryable: true, retryAfterMs: 7000 }
    const failing = `data: ${JSON.stringify({ type: 'stream-error', problem })}\n\n`
    expect((await waitsOf([[failing]]))[0]).toBe(7000)
  })

  it('C5: a permanent failure within a stream keeps every field from the server', async () => {
    const problem = { code: 'internal', detail: 'broken', status: 500, retryable: false }
    const client = connect(nowhere, { fetch: answering([[`data: ${JSON.stringify({ type: 'stream-error', problem })}\n\n`]]) })
    await expect(collect(client.session('s1').attach())).rejects.toMatchObject({
      code: 'internal',
      message: 'broken',
      status: 500,
      problem,
    })
  })

  it('C14: leaving ends a read that ignores its signal', async () => {
    const leaving = new AbortController()
    const body = new ReadableStream<Uint8Array>(
      { pull: () => new Promise(() => setImmediate(() => leaving.abort())) },
      { highWaterMark: 0 },
    )
    const fetch: typeof globalThis.fetch = () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
    const reading = collect(connect(nowhere, { fetch }).session('s1').attach({ abortSignal: leaving.signal }))
    expect(await reading).toEqual([])
    expect(leaving.signal.aborted).toBe(true)
  })

  it('a query contains only given fields', async () => {
    const server = await startServer()
    server.intercept = (_seen, response) => {
      response.end('{"sessions":[]}')
      return 'handled'
    }
    await connect(server).sessions({ agent: undefined, limit: 5 } as never)
    expect(server.seen.map(({ query }) => query.toString())).toEqual(['limit=5'])
  })
})

describe('the wait before a try', () => {
  it('C6: starts again at the first step after an event', async () => {
    const cut: Answer = []
    expect((await waitsOf([cut, cut, [savePoint(1)]])).slice(0, 5)).toEqual([125, 250, 125, 250, 500])
  })

  it('C6: keeps growing after connections that bring only comments', async () => {
    const quiet: Answer = [': ready\n\n']
    expect((await waitsOf([quiet, quiet, quiet])).slice(0, 4)).toEqual([125, 250, 500, 1000])
  })
})

describe('repeated events', () => {
  it('C8: events up to the given cursor are skipped', async () => {
    expect(await seqsOf('2', [[savePoint(1), savePoint(2), savePoint(3)]])).toEqual([3])
  })

  it('C8: deltas up to the given cursor are skipped', async () => {
    const pieces = [delta('2.1', 'a'), delta('2.2', 'b'), delta('2.3', 'c')]
    expect(await seqsOf('2.2', [pieces, pieces])).toEqual(['c'])
  })

  it('C8: deltas after the given event are returned', async () => {
    expect(await seqsOf('2', [[delta('2.1', 'a'), delta('2.2', 'b')]])).toEqual(['a', 'b'])
  })
})

describe('an expired cursor', () => {
  const expired = { status: 410, code: 'cursor-expired' } as const

  async function holding(): Promise<WireServer> {
    const server = await startServer()
    server.exists = true
    server.add(textRun({ runId: 'r1', turn: 1 }, 'hello', ['hi']))
    return server
  }

  it('C8, C10: events that the loaded state contains are not returned again', async () => {
    const server = await holding()
    const frames = server.frames.map(({ id, event }) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`)
    server.intercept = ({ path, query }, response) => {
      if (!path.endsWith('/events')) return undefined
      if (query.get('cursor') === '1') return expired
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${frames.join('')}data: {"type":"stream-end","reason":"deleted","resume":false}\n\n`)
      return 'handled'
    }
    const events = await collect(connect(server).session('s1').attach({ cursor: '1' }))
    expect(events.filter((event) => 'seq' in event)).toEqual([])
    expect(events[0]).toMatchObject({ type: 'resync' })
  })

  it('C10: may expire a second time, if an event has come since', async () => {
    const server = await holding()
    let refusals = 0
    const last = String(server.state().cursor)
    server.intercept = ({ path, query }, response) => {
      if (!path.endsWith('/events')) return undefined
      const cursor = query.get('cursor')
      // The cursor of the first state is valid. The one after the next event is not.
      if (cursor !== last) return ++refusals <= 2 ? expired : undefined
      if (refusals === 2) return undefined
      server.add([{ type: 'save-point', at: 1, runId: 'r1', turn: 1 }])
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(savePoint(Number(last) + 1), () => response.destroy())
      return 'handled'
    }
    const types: string[] = []
    const events = connect(server).session('s1').attach({ cursor: '1' })[Symbol.asyncIterator]()
    while (types.filter((type) => type === 'resync').length < 2) types.push(((await events.next()).value as ClientEvent).type)
    await events.return?.()
    expect(types).toEqual(['resync', 'save-point', 'resync'])
  })
})
