import { manualClock } from '@bowline/llm/testing'
import { createServer, createToken, type Principal } from '@bowline/server'
import type { SessionQuery, SessionStore } from '@bowline/sessions'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RunningRuns, type RunningRunsOptions } from '../../src/rate/running-runs.ts'
import { sessionKey } from '../../src/session-keys.ts'
import { bench, gate, refusal, remoteTool, say, stores, type Bench, type BenchOptions } from '../support/bench.ts'
import { chatBody, postChat } from '../support/chat.ts'
import { allFrames, completion, framesUntil, type Frame } from '../support/frames.ts'

const session = '/api/agent/session'
const isType = (type: string) => (frame: Frame) => frame.data.type === type
const send = (it: Bench, sessionId: string, options: object = {}) => it.execute({ sessionId, input: say('hi'), context: {}, ...options })

/** Creates a server whose runs continue until the gate opens, except those that are told to ask. */
async function withLimit(runsPerTenant: number, options: BenchOptions = {}) {
  const hold = gate()
  const steps = async ({ prompt }: { prompt: unknown }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('ask') && !text.includes('tool-result')) return { toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }
    return { parts: [{ wait: hold.passed }], text: 'Done.' }
  }
  const it = await bench({ steps, tools: [remoteTool('place')], limits: { runsPerTenant }, ...options })
  /** Starts a run that continues until the gate opens. */
  const start = async (sessionId: string) => {
    const answer = await send(it, sessionId)
    expect(answer.status).toBe(200)
    return answer
  }
  return { ...it, hold, start }
}

describe.each(stores)('over the $name store', ({ make }) => {
  it('V77: a new run beyond the limit is 429, and is accepted when another one has ended', async () => {
    const it = await withLimit(2, { store: make() })
    const open = [await it.start('a'), await it.start('b')]
    expect(await refusal(send(it, 'c'), 429, 'too-many-runs')).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    await refusal(it.get(`${session}/c`), 404, 'session-missing')
    it.hold.open()
    for (const each of open) expect(completion(await allFrames(each)).status).toBe('completed')
    expect(completion(await allFrames(await send(it, 'c'))).status).toBe('completed')
  })

  it('V77: runs that wait for an answer do not count', async () => {
    const it = await withLimit(2, { store: make() })
    for (const id of ['a', 'b', 'c', 'd']) {
      const waiting = await it.execute({ sessionId: id, input: say('ask'), context: {} })
      expect(completion(await allFrames(waiting)).status).toBe('awaiting-tools')
    }
    await it.start('e')
    await it.start('f')
    await refusal(send(it, 'g'), 429, 'too-many-runs')
    // A waiting run may always continue.
    const answered = await it.execute({ sessionId: 'a', input: [{ toolCallId: 'call-place', output: 'Oslo' }] })
    expect(answered.status).toBe(200)
    it.hold.open()
    await allFrames(answered)
  })
})

it('V77: of many inputs at the same time as many are accepted as there is room for', async () => {
  const it = await withLimit(5)
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send(it, `s${index}`)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(35)
  it.hold.open()
  await Promise.all(answers.map((answer) => answer.text()))
})

it('V77: each tenant has its own limit', async () => {
  const as = (tenant: string) => ({ authorization: tenant })
  const auth = (request: Request): Promise<Principal> =>
    Promise.resolve({ id: 'page', tenant: request.headers.get('authorization') ?? 'none', scopes: ['admin'] })
  const it = await withLimit(1, { auth })
  const body = { sessionId: 'mine', input: say('hi'), context: {} }
  expect((await it.execute(body, as('one'))).status).toBe(200)
  expect((await it.execute(body, as('two'))).status).toBe(200)
  await refusal(it.execute({ ...body, sessionId: 'other' }, as('one')), 429, 'too-many-runs')
})

it('V77: an input that joins or queues after a running run is no new run', async () => {
  const it = await withLimit(1)
  await it.start('a')
  const queued = await it.execute({ sessionId: 'a', input: say('more'), options: { onBusy: 'queue' } })
  expect(queued.status).toBe(200)
  expect((await it.post(`${session}/a/steer`, { input: say('more') })).status).toBe(202)
})

it('V77: every way to start a run counts, and is limited', async () => {
  const hold = gate()
  const busy = await bench({ steps: [{ text: 'Hi.' }, { parts: [{ wait: hold.passed }], text: 'Hi.' }], limits: { runsPerTenant: 1 } })
  await allFrames(await send(busy, 'idle'))
  await send(busy, 'a')
  for (const path of ['steer', 'follow-up']) {
    await refusal(busy.post(`${session}/idle/${path}`, { input: say('x') }), 429, 'too-many-runs')
  }
  await refusal(busy.post(`${session}/idle/compact`, {}), 429, 'too-many-runs')
  const text = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'x' }] }
  await refusal(postChat(busy, chatBody([text], { id: 'new' })), 429, 'too-many-runs')
  hold.open()
})

it('V77: a session with a recent update does not count as running', async () => {
  const hold = gate()
  const it = await bench({ steps: [{ text: 'Hi.' }, { parts: [{ wait: hold.passed }], text: 'Hi.' }], limits: { runsPerTenant: 1 } })
  await allFrames(await send(it, 'idle'))
  await framesUntil(await send(it, 'a'), isType('message-start'))
  const { store } = it.runtime
  const listRuns = store.listRuns.bind(store)
  // Each time the server reads the running sessions, another client changes the idle session.
  store.listRuns = async (key, query) => {
    await it.runtime.session('tenant:local:s:idle').overlay('It is late.')
    return listRuns(key, query)
  }
  await refusal(it.execute({ sessionId: 'idle', input: say('more') }), 429, 'too-many-runs')
  hold.open()
})

it('V77: runs that other servers of the store execute count, and so do earlier runs', async () => {
  const { token, config } = await createToken({ id: 'a', tenant: 'demo', scopes: ['admin'] })
  const headers = { authorization: `Bearer ${token}` }
  const first = await withLimit(2, { auth: { tokens: [config] } })
  const body = (sessionId: string) => ({ sessionId, input: say('hi'), context: {} })
  await framesUntil(await first.execute(body('a'), headers), isType('message-start'))
  // A second server on the same runtime starts without any knowledge of it.
  const second = createServer({ runtime: first.runtime, auth: { tokens: [config] }, limits: { runsPerTenant: 2 } })
  const ask = (sessionId: string) =>
    second.fetch(
      new Request('http://localhost/api/agent/execute', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body(sessionId)),
      }),
    )
  expect((await ask('b')).status).toBe(200)
  await refusal(first.execute(body('c'), headers), 429, 'too-many-runs')
  await refusal(ask('c'), 429, 'too-many-runs')
})

it('V77: an input that fails to get in leaves no trace', async () => {
  const it = await withLimit(1)
  const commit = it.runtime.store.commit.bind(it.runtime.store)
  it.runtime.store.commit = () => Promise.reject(new Error('the store failed'))
  await refusal(send(it, 'a'), 500, 'internal')
  it.runtime.store.commit = commit
  expect((await send(it, 'b')).status).toBe(200)
})

it('V77: while there is room, an input does not read through the sessions', async () => {
  const it = await bench({ steps: Array.from({ length: 10 }, () => ({ text: 'Hi.' })) })
  await allFrames(await send(it, 's0'))
  let lists = 0
  const listSessions = it.runtime.store.listSessions.bind(it.runtime.store)
  it.runtime.store.listSessions = (query) => {
    lists += 1
    return listSessions(query)
  }
  for (let index = 1; index < 10; index++) await allFrames(await send(it, `s${index}`))
  expect(lists).toBe(0)
})

describe('the reads of the store, and its hints', () => {
  const tooMany = { code: 'too-many-runs' }
  const nothing = (): Promise<void> => Promise.resolve()

  interface Limited {
    readonly limit?: number
    readonly processes?: 'one' | 'many'
    /** False: all hints of the store are lost. */
    readonly hints?: boolean
    /** Number of sessions per page of the store. */
    readonly pageSize?: number
    readonly most?: RunningRunsOptions['most']
    readonly bench?: BenchOptions
  }

  /** Applies the limit to the store of a runtime in which another client starts runs that continue until `hold` opens. */
  async function limited({ limit = 1, processes = 'one', hints = true, pageSize = 1000, most, bench: options }: Limited = {}) {
    const hold = gate()
    const { runtime } = await bench({ steps: async () => (await hold.passed, { text: 'Done.' }), ...options })
    onTestFinished(() => hold.open())
    const clock = manualClock(1_000_000)
    const asked = { lists: [] as SessionQuery[], reads: 0, subscribers: 0 }
    const real = runtime.store
    const store: SessionStore = {
      ...real,
      capabilities: { ...real.capabilities, processes },
      subscribe: (listener) => {
        asked.subscribers += 1
        const unsubscribe = hints ? real.subscribe(listener) : () => undefined
        return () => {
          asked.subscribers -= 1
          unsubscribe()
        }
      },
      listSessions: (query = {}) => {
        asked.lists.push(query)
        return real.listSessions({ ...query, ...(query.limit !== undefined && { limit: Math.min(query.limit, pageSize) }) })
      },
      readSession: (key) => {
        asked.reads += 1
        return real.readSession(key)
      },
    }
    const runs = new RunningRuns({ runtime: { store }, limit, clock, ...(most && { most }) })
    /** Starts a run from another client. */
    const start = (id: string, tenant = 'red') => runtime.session(sessionKey(tenant, id)).send('hi')
    const within = (id: string, work: () => Promise<unknown> = nothing) => runs.within('red', sessionKey('red', id), work)
    /** Starts an input that is not stored until `arrive`. */
    const entering = async (id: string) => {
      const [begun, arrived] = [gate(), gate()]
      const done = within(id, () => (begun.open(), arrived.passed))
      await Promise.race([begun.passed, done])
      return { done, arrive: arrived.open }
    }
    return { runs, runtime, store, clock, asked, hold, start, within, entering }
  }

  it('V77: while there is room the store is read once for a tenant, and no single session is read', async () => {
    const { within, asked } = await limited({ limit: 4 })
    for (const id of ['a', 'b', 'c', 'a', 'd']) await within(id)
    expect(asked).toMatchObject({ lists: [{ status: expect.not.arrayContaining(['completed']) as unknown }], reads: 0, subscribers: 1 })
  })

  it('V77: without a limit the store is not read', async () => {
    const { within, asked } = await limited({ limit: Infinity })
    expect(await within('a', () => Promise.resolve('given'))).toBe('given')
    expect(asked).toEqual({ lists: [], reads: 0, subscribers: 0 })
  })

  it('V77: inputs that are being stored count until they are stored', async () => {
    const { within, entering } = await limited({ limit: 2 })
    const inputs = [await entering('a'), await entering('b')]
    await expect(within('c')).rejects.toMatchObject(tooMany)
    for (const { arrive, done } of inputs) {
      arrive()
      await done
    }
    await within('c')
  })

  it('V77: two inputs that are being stored into one new session are one run', async () => {
    const { entering } = await limited()
    const inputs = [await entering('a'), await entering('a')]
    for (const { arrive } of inputs) arrive()
    await Promise.all(inputs.map(({ done }) => done))
  })

  it('V77: the run that an input started counts until it ends, also if the store gives no hint', async () => {
    const { within, start, hold } = await limited({ hints: false })
    const { result } = await within('a', () => start('a')).then((run) => run as Awaited<ReturnType<typeof start>>)
    await expect(within('b')).rejects.toMatchObject(tooMany)
    hold.open()
    await result()
    await within('b')
  })

  it('V77: a run known only from a hint counts for its own tenant', async () => {
    const { within, start } = await limited()
    await within('a')
    await start('x', 'blue')
    await within('b')
    await start('x')
    await expect(within('c')).rejects.toMatchObject(tooMany)
  })

  it('V77: earlier runs count for their own tenant, whatever the pages in which the store lists them', async () => {
    const { within, start, asked } = await limited({ limit: 3, pageSize: 1 })
    await start('x', 'blue')
    for (const id of ['a', 'b']) await start(id)
    await within('d')
    expect(asked.lists.length).toBeGreaterThan(1)
    await start('c')
    await expect(within('d')).rejects.toMatchObject(tooMany)
    const again = await limited({ limit: 3, pageSize: 1 })
    for (const id of ['a', 'b', 'c']) await again.start(id)
    await expect(again.within('d')).rejects.toMatchObject(tooMany)
  })

  it('V77: sessions without work are not read', async () => {
    const { within, start, hold, asked } = await limited()
    hold.open()
    for (const id of ['a', 'b']) await (await start(id)).result()
    await within('c')
    expect(asked.reads).toBe(0)
  })

  it('V77: hundreds of running sessions are read at once', async () => {
    const { within, start, asked } = await limited({ limit: 150 })
    await Promise.all(Array.from({ length: 150 }, (_, index) => start(`s${index}`)))
    await expect(within('new')).rejects.toMatchObject(tooMany)
    expect(asked.lists).toHaveLength(1)
  })

  it('V77: a run that waits for a retry counts as running', async () => {
    const clock = manualClock(0)
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const { within, start, runtime, store } = await limited({ bench: { steps: () => ({ error: refused }), runtimeOptions: { clock } } })
    await start('a')
    const key = sessionKey('red', 'a')
    for await (const { type } of runtime.session(key).events()) if (type === 'retry-start') break
    expect(await store.readSession(key)).toMatchObject({ value: { status: 'waiting-for-retry' } })
    await expect(within('b')).rejects.toMatchObject(tooMany)
  })

  it('V77: a run that waits for its turn counts as running', async () => {
    const { within, start } = await limited({ limit: 2, bench: { runtimeOptions: { concurrency: 1 } } })
    await start('occupies', 'blue')
    await within('before')
    await start('a')
    await start('b')
    await expect(within('c')).rejects.toMatchObject(tooMany)
    await within('a')
  })

  it('V77: runs of other processes, whose hints may be lost, are found within a minute', async () => {
    for (const processes of ['many', 'one'] as const) {
      const { within, start, clock, asked } = await limited({ limit: 2, processes, hints: false })
      await within('a')
      await start('x')
      await start('y')
      await clock.advance(59_999)
      await within('b')
      expect(asked.lists).toHaveLength(1)
      await clock.advance(1)
      if (processes === 'one') await within('c')
      else await expect(within('c')).rejects.toMatchObject(tooMany)
      expect(asked.lists).toHaveLength(processes === 'one' ? 1 : 2)
      // The runs still count. The store is read again only after the next minute.
      await clock.advance(59_999)
      if (processes === 'many') await expect(within('c')).rejects.toMatchObject(tooMany)
      expect(asked.lists).toHaveLength(processes === 'one' ? 1 : 2)
      await clock.advance(1)
      if (processes === 'many') await expect(within('c')).rejects.toMatchObject(tooMany)
      expect(asked.lists).toHaveLength(processes === 'one' ? 1 : 3)
    }
  })

  it('V77: an input waits until the store was read again', async () => {
    const { within, start, clock, store } = await limited({ processes: 'many', hints: false })
    const { listSessions } = store
    store.listSessions = async (query) => {
      await new Promise((resolve) => setImmediate(resolve))
      return listSessions(query)
    }
    await within('a')
    await start('x')
    await clock.advance(60_000)
    await expect(within('a')).rejects.toMatchObject(tooMany)
  })

  it('V77: runs that the next read of the store does not show are forgotten', async () => {
    const { within, clock, asked } = await limited({ processes: 'many' })
    await within('a')
    await clock.advance(60_000)
    await within('b')
    expect(asked).toMatchObject({ lists: [{}, {}], reads: 0 })
  })

  it('V77: so many sessions of a tenant are remembered; beyond that the store is read again instead', async () => {
    const { within, asked } = await limited({ limit: 5000, most: { tenants: 1, seen: 3 } })
    const lists: number[] = []
    for (let count = 0; count < 12; count++) {
      await within(`s${count}`)
      lists.push(asked.lists.length)
    }
    expect(lists).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
  })

  it('V77: a store that cannot be read at first refuses only that input', async () => {
    const { within, store, asked } = await limited()
    const { listSessions } = store
    store.listSessions = () => Promise.reject(new Error('the disk is away'))
    await expect(within('a')).rejects.toThrow('the disk is away')
    store.listSessions = listSessions
    await within('a')
    await within('a')
    expect(asked.lists).toHaveLength(1)
  })

  it('V77: ignores hints after its close', async () => {
    const { runs, within, asked } = await limited()
    runs.close()
    await within('a')
    expect(asked.subscribers).toBe(1)
    runs.close()
    expect(asked.subscribers).toBe(0)
  })
})
