import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { manualClock } from '@bowline/llm/testing'
import type { StateStore } from '@bowline/sessions'
import { kvStateStore } from '@bowline/sessions/kv'
import { startKvServer } from '@bowline/testing/stores'
import { Redis } from '@upstash/redis'
import { createClient } from 'redis'
import { afterEach, describe, expect, it } from 'vitest'
import { isRedisMissing, isRedisUrlMissing, redisServers, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { sharedKv } from './kv-support.ts'
import { newPrefix } from './redis-support.ts'

const life = { ttlMs: 60_000 }

const callsOf = (store: StateStore): readonly (() => Promise<unknown>)[] => [
  () => store.get('s', 'a'),
  () => store.compareAndSet('s', 'a', 1, 'the value', life),
  () => store.compareAndSet('s', 'new', null, 'the value', life),
  () => store.touch('s', 'a', 5),
  () => store.delete('s', 'a'),
  () => store.list('s', {}),
  () => store.sweep(5),
]

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(isRedisUrlMissing)(titleWithRedis('requests to a KV service', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)

  /** Creates a clock that stands still, and a list of the durations of its timers. */
  function waitingClock() {
    const clock = manualClock(1_750_000_000_000)
    const waits: number[] = []
    return {
      waits,
      advance: (ms: number) => clock.advance(ms),
      clock: {
        now: () => clock.now(),
        setTimer(atMs: number, run: () => void) {
          waits.push(atMs - clock.now())
          return clock.setTimer(atMs, run)
        },
      },
    }
  }
  /** Returns the names of the requests that `work` makes. */
  async function requestsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = kv.server.requests.length
    await work()
    return kv.server.requests.slice(before)
  }

  it('O69: the server speaks the protocol of the real client', async () => {
    const { url, token } = kv.server
    for (const responseEncoding of [undefined, false] as const) {
      const client = new Redis({ url, token, ...(responseEncoding === false && { responseEncoding }) })
      const key = newPrefix()
      expect(await client.set(key, { text: 'ä 🎈', list: [1, null] })).toBe('OK')
      expect(await client.get(key)).toEqual({ text: 'ä 🎈', list: [1, null] })
      expect(await client.mget(key, `${key}-none`)).toEqual([{ text: 'ä 🎈', list: [1, null] }, null])
      expect(await client.eval('return { KEYS[1], 7, { ARGV[1] } }', [key], ['é'])).toEqual([key, 7, ['é']])
      expect(await client.pipeline().del(key).exists(key).ping().exec()).toEqual([1, 0, 'PONG'])
      await expect(client.eval('no script', [], [])).rejects.toThrow(/ERR Error compiling script/)
      await expect(client.hget(`${key}-none`, 'field')).resolves.toBeNull()
    }
    await expect(new Redis({ url, token: 'wrong' }).ping()).rejects.toThrow(/WRONGPASS/)
    expect((await fetch(`${url}/pipeline`, { method: 'POST', body: '{', headers: { authorization: `Bearer ${token}` } })).status).toBe(400)
    expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(405)
  })

  it('O69: each change is one request, a read is one, and a page two', async () => {
    const store = kv.open()
    await store.compareAndSet('s', 'a', null, 0, life)
    for (const call of callsOf(store).slice(3, 6)) await call()
    await store.compareAndSet('s', 'a', null, 1, life)
    await store.get('s', 'a')
    await store.list('s', {})
    expect(await requestsOf(() => store.compareAndSet('s', 'a', 2, 2, life))).toEqual(['evalsha'])
    for (const call of [() => store.get('s', 'a'), () => store.touch('s', 'a', 5_000), () => store.delete('s', 'a')])
      expect(await requestsOf(call)).toEqual(['evalsha'])
    await store.compareAndSet('s', 'a', null, 1, life)
    expect(await requestsOf(() => store.list('s', {}))).toEqual(['evalsha', 'evalsha'])
    expect(await requestsOf(() => store.open())).toEqual(['ping'])
  })

  it('O69: a script that the service has lost is sent again', async () => {
    const store = kv.open()
    await store.compareAndSet('s', 'a', null, 1, life)
    const admin = await createClient({ url: redis.url }).connect()
    await admin.scriptFlush()
    admin.destroy()
    expect(await requestsOf(() => store.compareAndSet('s', 'a', 1, 2, life))).toEqual(['evalsha', 'eval'])
    expect(await store.get('s', 'a')).toMatchObject({ value: { version: 2, value: 2 } })
  })

  it.each(['before', 'after', 'cut'] as const)(
    'O64, O69: an answer that is lost (%s) is looked up, and the change is made once',
    async (lose) => {
      const prefix = newPrefix()
      const [store, direct] = [kv.open({ prefix }), kv.open({ prefix })]
      await store.compareAndSet('s', 'a', null, 0, life)
      kv.server.fail({ lose })
      expect(await store.compareAndSet('s', 'a', 1, 1, life)).toEqual({ ok: true, version: 2 })
      kv.server.fail({ lose }, { lose })
      expect(await store.touch('s', 'a', 90_000)).toBe(true)
      kv.server.fail({ lose })
      expect(await store.get('s', 'a')).toMatchObject({ value: { version: 2, value: 1 } })
      kv.server.fail({ lose })
      expect(await store.delete('s', 'a', 2)).toEqual({ ok: true, version: 2 })
      kv.server.fail({ lose }, { lose }, { lose })
      await expect(store.compareAndSet('s', 'a', null, 'unknown', life)).rejects.toMatchObject({
        code: 'store-unavailable',
        retryable: true,
      })
      expect((await direct.get('s', 'a')).status).toBe(lose === 'before' ? 'missing' : 'found')
    },
  )

  it('O64, O69: an answer after the timeout is unknown; the late execution of the request changes nothing', async () => {
    const prefix = newPrefix()
    const [store, direct] = [kv.open({ prefix, timeoutMs: 300 }), kv.open({ prefix })]
    await direct.compareAndSet('s', 'a', null, 0, life)
    const { promise, resolve } = Promise.withResolvers<void>()
    kv.server.fail({ until: promise })
    expect(await store.compareAndSet('s', 'a', 1, 1, life)).toEqual({ ok: true, version: 2 })
    kv.server.fail({ until: promise })
    expect(await store.delete('s', 'a')).toEqual({ ok: true, version: 2 })
    await direct.compareAndSet('s', 'a', null, 'made anew', life)
    resolve()
    // The server has executed the late requests before it answers this one.
    for (let n = 0; n < 5; n++) expect(await direct.get('s', 'a')).toMatchObject({ value: { version: 3, value: 'made anew' } })
  })

  it('O69: a busy service (429) is given the time that it asks for, and the request is sent again', async () => {
    const { clock, waits, advance } = waitingClock()
    const store = kv.open({ clock, timeoutMs: 5_000, maxWaitMs: 60_000 })
    await store.compareAndSet('s', 'a', null, 0, life)
    const inNineSeconds = (): string => new Date(clock.now() + 9_000).toUTCString()
    for (const [retryAfter, waitMs] of [
      [() => '7', 7_000],
      [inNineSeconds, 9_000],
      [() => 'soon', 100],
      [undefined, 100],
    ] as const) {
      waits.length = 0
      kv.server.fail({ status: 429, ...(retryAfter && { retryAfter: retryAfter() }) })
      const read = store.get('s', 'a')
      await expect.poll(() => waits).toEqual([5_000, waitMs])
      const before = kv.server.requests.length
      await advance(waitMs - 1)
      expect(kv.server.requests.length).toBe(before)
      await advance(1)
      expect(await read).toMatchObject({ status: 'found' })
      // Dates are in whole seconds.
      await advance(1_000 - (clock.now() % 1_000))
    }
  })

  it('O69: a wait that is too long is an error at once, and the error names the seconds', async () => {
    const store = kv.open({ maxWaitMs: 1_000 })
    await store.compareAndSet('s', 'a', null, 0, life)
    kv.server.fail({ status: 429, retryAfter: '30' })
    const busy = { code: 'store-unavailable', message: 'The KV service is busy (status 429) and asks to wait 30 s.' }
    expect(await requestsOf(() => expect(store.compareAndSet('s', 'a', 1, 1, life)).rejects.toMatchObject(busy))).toEqual(['evalsha'])
    kv.server.fail({ status: 503, retryAfter: '30' })
    const unknown = {
      code: 'store-unavailable',
      message: expect.stringMatching(/status 503.* 30 s\. A change may or may not have been made/) as unknown,
    }
    expect(await requestsOf(() => expect(store.compareAndSet('s', 'a', 1, 1, life)).rejects.toMatchObject(unknown))).toEqual(['evalsha'])
  })

  it('O69: after a failure of the service (5xx) the client waits as told, and looks up the outcome', async () => {
    const { clock, waits, advance } = waitingClock()
    const store = kv.open({ clock, timeoutMs: 5_000 })
    await store.compareAndSet('s', 'a', null, 0, life)
    waits.length = 0
    kv.server.fail({ status: 502, retryAfter: '4', body: '<html>bad gateway</html>' })
    const change = store.compareAndSet('s', 'a', 1, 1, life)
    await expect.poll(() => waits).toEqual([5_000, 4_000])
    await advance(4_000)
    expect(await change).toEqual({ ok: true, version: 2 })
  })

  it('O69: a value over the limit is refused with its size, and nothing is sent', async () => {
    const store = kv.open({ maxRequestBytes: 10_000 })
    await store.compareAndSet('s', 'a', null, 0, life)
    const refused = {
      code: 'entry-too-large',
      message: expect.stringMatching(/must have at most 10000 bytes; this one has \d{5}\./) as unknown,
    }
    for (const value of ['x'.repeat(9_000), 'ä'.repeat(4_500), '"'.repeat(4_500), 'x'.repeat(12_000)]) {
      expect(await requestsOf(() => expect(store.compareAndSet('s', 'a', 1, value, life)).rejects.toMatchObject(refused))).toEqual([])
    }
    // The service may have a lower limit than the store knows.
    const lenient = kv.open()
    await lenient.compareAndSet('s', 'b', null, 0, life)
    await expect(lenient.compareAndSet('s', 'b', 1, 'x'.repeat(100_000), life)).rejects.toMatchObject({ code: 'entry-too-large' })
    expect(await lenient.get('s', 'b')).toMatchObject({ value: { version: 1 } })
  })

  it('O63, O65: a wrong token or URL is reported at the first call; no error shows token or value', async () => {
    const page = createServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/' }).end()
      else response.writeHead(404, { 'content-type': 'text/html' }).end('<html>not here</html>')
    })
    const elsewhere = await listening(page)
    const gone = createServer()
    const nowhere = await listening(gone)
    gone.close()
    const { url, token } = kv.server
    const secret = 'token-secret'
    const cases = [
      [{ url, token: secret }, 'invalid-config', /refuses the token \(status 401\)/],
      [{ url: elsewhere, token: secret }, 'invalid-config', /is not that of a KV service \(status 404\)/],
      [{ url: `${elsewhere}/moved`, token: secret }, 'invalid-config', /is not that of a KV service \(unexpected redirect\)/],
      [{ url: 'http://127.0.0.1:1', token: secret }, 'invalid-config', /is not that of a KV service \(bad port\)/],
      [{ url: nowhere, token: secret }, 'store-unavailable', /cannot be reached \(ECONNREFUSED\)/],
      [{ url: 'http://no-such-host.invalid', token: secret }, 'store-unavailable', /cannot be reached \(E\w+\)/],
      [{ url: `${url}/other/path`, token }, 'store-unavailable', /cannot execute scripts now \(ERR\)/],
    ] as const
    for (const [options, code, message] of cases) {
      const store = kv.open({ ...options, timeoutMs: 2_000 })
      for (const call of [...callsOf(store), () => store.open()]) {
        const error: unknown = await call().catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ code, message: expect.stringMatching(message) as unknown })
        expect(inspect([error, store], { depth: 9, showHidden: true })).not.toMatch(/token-secret|the value/)
        expect(inspect([error, store], { depth: 9, showHidden: true })).not.toContain(token)
      }
    }
    page.close()
  })

  it('O63: an error of a command shows neither its arguments nor the token', async () => {
    const store = kv.open()
    const texts = [
      ["ERR unknown command 'EVALSHA', with args beginning with: 'the value'", 'store-unavailable'],
      ['ERR DB capacity quota exceeded. Limit: 10 bytes', 'store-full'],
      ['ERR max daily request limit exceeded. Limit: 10000, Usage: 10000', 'store-unavailable'],
      ['ERR max single record size exceeded', 'entry-too-large'],
      ["NOPERM this user has no permissions to run the 'evalsha' command", 'invalid-config'],
      ['something else', 'store-unavailable'],
    ] as const
    for (const [error, code] of texts) {
      kv.server.fail({ status: 400, body: JSON.stringify({ error }) })
      const thrown: unknown = await store.get('s', 'a').catch((refusal: unknown) => refusal)
      expect(thrown).toMatchObject({ code })
      expect(inspect(thrown, { depth: 9, showHidden: true })).not.toMatch(/the value|10000/)
    }
  })

  it('O69: the client reads its own writes, on a service with several regions', async () => {
    const tokens: (string | null)[] = []
    const store = kv.open({
      fetch: async (input, init) => {
        tokens.push(new Headers(init?.headers).get('upstash-sync-token'))
        return fetch(input, init)
      },
    })
    const before = kv.server.requests.length
    await store.open()
    await store.open()
    expect(tokens).toEqual(['', String(before + 1)])
  })

  it('O58: a closed store is unavailable', async () => {
    const store = kv.open()
    await store.close()
    await expect(store.open()).rejects.toMatchObject({ code: 'store-unavailable', message: expect.stringMatching(/closed/) as unknown })
  })
})

describe.skipIf(isRedisMissing)(titleWithRedis('a KV service that fails'), () => {
  const start = redisServers()
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  async function benchOver(config: Record<string, string> = {}) {
    const server = await start(config)
    const admin = await createClient({ url: server.url })
      .on('error', () => undefined)
      .connect()
    const kv = await startKvServer({ redisUrl: server.url })
    closing.push(
      async () => admin.destroy(),
      () => kv.close(),
    )
    return { server, admin, kv, store: kvStateStore({ url: kv.url, token: kv.token, prefix: 'p', timeoutMs: 500 }) }
  }

  it('O58: a service without its database is unavailable, not empty', async () => {
    const { server, store } = await benchOver()
    await store.compareAndSet('s', 'a', null, 1, life)
    await server.kill()
    await Promise.all(callsOf(store).map((call) => expect(call()).rejects.toMatchObject({ code: 'store-unavailable' })))
  })

  it('O58, O69: a full or evicting service is reported, and nothing is written in part', async () => {
    const { admin, store } = await benchOver()
    await store.compareAndSet('s', 'a', null, 1, life)
    await admin.configSet('maxmemory', '1')
    await expect(store.compareAndSet('s', 'a', 1, 2, life)).rejects.toMatchObject({
      code: 'store-full',
      message: 'The KV service is full: raise its maxmemory, or delete records (OOM).',
    })
    expect(await store.get('s', 'a')).toMatchObject({ value: { version: 1, value: 1 } })
    await admin.configSet('maxmemory', '0')
    await admin.del('p:{s}:value:a')
    await expect(store.get('s', 'a')).rejects.toMatchObject({ code: 'store-corrupt' })
  })
})

describe('the options of kvStateStore', () => {
  it('O65, O69: URL and token come from options or from variables that belong together; a missing one is named', () => {
    const url = 'https://name.example'
    const cases = [
      [{}, 'kvStateStore needs the variable KV_REST_API_URL and the variable KV_REST_API_TOKEN.'],
      [{ environment: { KV_REST_API_URL: url } }, 'kvStateStore needs the variable KV_REST_API_TOKEN.'],
      [{ environment: { UPSTASH_REDIS_REST_TOKEN: 't', KV_REST_API_URL: '' } }, 'kvStateStore needs the variable UPSTASH_REDIS_REST_URL.'],
      [
        { environment: { KV_REST_API_URL: url, UPSTASH_REDIS_REST_TOKEN: 'of another' } },
        'kvStateStore needs the variable KV_REST_API_TOKEN.',
      ],
      [{ url }, 'kvStateStore needs token.'],
      [{ token: 't' }, 'kvStateStore needs url.'],
      [{ url: 'redis://:secret@host', token: 't' }, 'url must be https://host without a user, a query or a fragment.'],
      [{ url: 'https://user:secret@host', token: 't' }, 'url must be https://host without a user, a query or a fragment.'],
      [
        { environment: { KV_REST_API_URL: 'secret', KV_REST_API_TOKEN: 't' } },
        'the variable KV_REST_API_URL must be https://host without a user, a query or a fragment.',
      ],
      [{ url, token: 'secret\n' }, 'token must have no spaces or line breaks.'],
    ] as const
    for (const [options, message] of cases) {
      expect(() => kvStateStore({ environment: {}, ...options })).toThrow(
        expect.objectContaining({ code: 'invalid-config', message }) as Error,
      )
    }
    for (const environment of [
      { KV_REST_API_URL: url, KV_REST_API_TOKEN: 't' },
      { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: 't' },
    ]) {
      expect(kvStateStore({ environment })).toMatchObject({ open: expect.any(Function) as unknown })
    }
  })
})
