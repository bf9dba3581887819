import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import { SessionError, type StateStore } from '@bowline/sessions'
import { redisStateStore } from '@bowline/redis'
import { createClient, createCluster } from 'redis'
import { afterEach, describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { isRedisMissing, redisServers, titleWithRedis } from '../../../scripts/redis.ts'
import { cuttingProxies } from './cutting-proxy.ts'
import { redisStores } from './redis-support.ts'

const life = { ttlMs: 60_000 }
const forever = { ttlMs: 'never' } as const

/** Repeats a read while the store is unavailable. With a short timeout it is, at times, on a slow machine. */
async function answered<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (!SessionError.isInstance(error) || !error.retryable) throw error
    }
  }
}

/** Returns every call of a state store. */
const callsOf = (store: StateStore): readonly (() => Promise<unknown>)[] => [
  () => store.get('s', 'a'),
  () => store.compareAndSet('s', 'a', 1, 'late', life),
  () => store.compareAndSet('s', 'new', null, 1, life),
  () => store.touch('s', 'a', 5),
  () => store.delete('s', 'a'),
  () => store.list('s', {}),
  () => store.sweep(5),
]

describe.skipIf(isRedisMissing)(titleWithRedis('a Redis server'), () => {
  const start = redisServers()
  const proxyTo = cuttingProxies()
  const open = redisStores(() => 'redis://127.0.0.1:1')
  const clients: { readonly isOpen: boolean; destroy(): unknown }[] = []
  afterEach(() => {
    for (const client of clients.splice(0)) if (client.isOpen) client.destroy()
  })

  async function clientOf(url: string) {
    const client = createClient({ url })
    client.on('error', () => undefined)
    clients.push(client)
    return client.connect()
  }

  it('O68: each change is one script, a read is one, and a page two', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url })
    await store.compareAndSet('s', 'other', null, 1, life)
    const commandsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
      await admin.configResetStat()
      await work()
      // Commands executed by a script are counted too.
      return [...(await admin.info('commandstats')).matchAll(/cmdstat_(eval\w*|script\w*|multi|watch|scan|keys):calls=(\d+)/g)].map(
        ([, name = '', calls = '']) => `${name} ${calls}`,
      )
    }
    expect(await commandsOf(() => store.compareAndSet('s', 'a', null, 1, life))).toEqual(['evalsha 1'])
    expect(await commandsOf(() => store.compareAndSet('s', 'a', 1, 2, life))).toEqual(['evalsha 1'])
    for (const work of [() => store.get('s', 'a'), () => store.touch('s', 'a', 5_000), () => store.delete('s', 'a')]) {
      await work()
      expect(await commandsOf(work)).toEqual(['evalsha 1'])
    }
    await store.list('s', {})
    expect(await commandsOf(() => store.list('s', {}))).toEqual(['evalsha 2'])
  })

  it('O68: scripts that the server has lost are loaded again', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url })
    await store.compareAndSet('s', 'a', null, 0, life)
    for (let version = 1; version < 4; version++) {
      await admin.scriptFlush()
      expect(await store.compareAndSet('s', 'a', version, version, life)).toEqual({ ok: true, version: version + 1 })
      await admin.scriptFlush()
      expect(await store.get('s', 'a')).toMatchObject({ value: { value: version } })
    }
    // The store registers the space again too.
    await admin.flushAll()
    await admin.scriptFlush()
    await store.compareAndSet('s', 'b', null, 0, { ttlMs: 1 })
    await expect.poll(() => store.sweep(5)).toBe(1)
  })

  it('O49, O68: times come from the server, to the millisecond', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url })
    const now = async (): Promise<number> => {
      const [seconds, microseconds] = (await admin.sendCommand(['TIME'])) as unknown as [string, string]
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
    }
    const before = await now()
    await store.compareAndSet('s', 'a', null, 1, life)
    await store.compareAndSet('s', 'b', null, 1, { ttlMs: 40 })
    const after = await now()
    const kept = await store.get('s', 'a')
    const { usedAt, expiresAt } = kept.status === 'found' ? kept.value : { usedAt: 0, expiresAt: 0 }
    expect(before <= usedAt && usedAt <= after).toBe(true)
    expect(expiresAt).toBe(usedAt + life.ttlMs)
    for (;;) {
      // On a slow machine the short life is over before the first read.
      const [earliest, read, latest] = [await now(), await store.get('s', 'b'), await now()]
      if (read.status === 'found') expect(earliest).toBeLessThan(Number(read.value.expiresAt))
      else
        expect(read).toEqual({
          status: 'expired',
          at: expect.toSatisfy((at: number) => before + 40 <= at && at <= Math.min(after + 40, latest)) as unknown,
        })
      if (read.status === 'expired') break
    }
  })

  it('O68: a server that would evict records is refused at the start; a server that may lose records causes one warning', async () => {
    const evicting = await start({ 'maxmemory-policy': 'allkeys-lru' })
    const store = open({ url: evicting.url })
    const refused = {
      code: 'invalid-config',
      message: 'Redis would evict records when its memory is full: its maxmemory-policy is allkeys-lru. Set it to noeviction.',
    }
    await expect(store.open()).rejects.toMatchObject(refused)
    await Promise.all(callsOf(store).map((call) => expect(call()).rejects.toMatchObject(refused)))
    const admin = await clientOf(evicting.url)
    await admin.configSet('maxmemory-policy', 'noeviction')
    await store.open()
    expect(await admin.keys('*')).toEqual([])

    const forgetful = await start({ appendonly: 'no' })
    const proxy = await proxyTo(forgetful.port)
    const warnings: string[] = []
    const warned = open({ url: `redis://127.0.0.1:${proxy.port}`, onWarning: (text) => warnings.push(text) })
    await warned.open()
    proxy.cut()
    await warned.get('s', 'a')
    expect(proxy.connections).toBe(2)
    expect(warnings).toEqual(['Redis loses the newest state records when it crashes: its append-only file is off. Set appendonly to yes.'])
  })

  it('O63, O65, O68: a wrong password, user or URL is reported at the first call, without the secret', async () => {
    const server = await start({ requirepass: 'right-secret' })
    const admin = await clientOf(`redis://:right-secret@127.0.0.1:${server.port}`)
    await admin.aclSetUser('reader', ['on', '>reader-secret', '~*', '+hello', '+info', '+get', '+client'])
    const cases = [
      [
        `redis://:wrong-secret@127.0.0.1:${server.port}`,
        'invalid-config',
        /^Redis refuses the user or the password\. Correct them \(WRONGPASS\)\.$/,
      ],
      [`redis://nobody:wrong-secret@127.0.0.1:${server.port}`, 'invalid-config', /WRONGPASS/],
      [`redis://127.0.0.1:${server.port}`, 'invalid-config', /^Redis wants a password\. Add it to the URL \(NOAUTH\)\.$/],
      [`redis://reader:reader-secret@127.0.0.1:${server.port}`, 'invalid-config', /NOPERM/],
      [`rediss://:right-secret@127.0.0.1:${server.port}`, 'store-unavailable', /^Redis cannot be reached/],
      [
        'redis://:right-secret@127.0.0.1:1',
        'store-unavailable',
        /^Redis cannot be reached \(ECONNREFUSED\)\. Start it, or correct its URL\.$/,
      ],
      ['redis://:right-secret@no-such-host.invalid:6379', 'store-unavailable', /^Redis cannot be reached/],
    ] as const
    for (const [url, code, message] of cases) {
      const store = open({ url, timeoutMs: code === 'invalid-config' ? 5_000 : 300 })
      const error: unknown = await store.compareAndSet('s', 'a', null, 'the value', life).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) as unknown })
      expect(`${inspect(error, { depth: 9, showHidden: true })} ${inspect(store, { depth: 9 })}`).not.toMatch(/secret|the value/)
    }
    expect(await admin.keys('*')).toEqual([])
    expect(await open({ url: `redis://:right-secret@127.0.0.1:${server.port}` }).get('s', 'a')).toEqual({ status: 'missing' })
  })

  it('O58, O68: an unreachable server is unavailable, and usable again when it is back', async () => {
    const server = await start()
    await open({ url: server.url, prefix: 'away' }).compareAndSet('s', 'a', null, 'kept', forever)
    const store = open({ url: server.url, prefix: 'away', timeoutMs: 200 })
    await server.shutDown()
    await Promise.all(callsOf(store).map((call) => expect(call()).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })))
    await server.start()
    expect(await answered(() => store.get('s', 'a'))).toMatchObject({ value: { version: 1, value: 'kept' } })
    expect(await answered(() => store.get('s', 'new'))).toEqual({ status: 'missing' })
  })

  it('O68: a call that begins during a short outage waits for its end', async () => {
    const server = await start()
    const store = open({ url: server.url, timeoutMs: 10_000 })
    await store.compareAndSet('s', 'a', null, 0, forever)
    await server.kill()
    const calls = [store.get('s', 'a'), store.compareAndSet('s', 'a', 1, 1, forever)]
    await server.start()
    expect(await Promise.all(calls)).toMatchObject([{ status: 'found' }, { ok: true, version: 2 }])
  })

  it('O64, O68: after a lost connection with a lost answer the store reconnects, and the change was made once', async () => {
    const server = await start()
    const proxy = await proxyTo(server.port)
    const store = open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: 1_000 })
    await store.compareAndSet('s', 'a', null, 0, forever)
    proxy.next = 'cut'
    expect(await store.compareAndSet('s', 'a', 1, 1, forever)).toEqual({ ok: true, version: 2 })
    proxy.next = 'swallow'
    expect(await store.compareAndSet('s', 'a', 2, 2, forever)).toEqual({ ok: true, version: 3 })
    proxy.next = 'cut'
    expect(await store.delete('s', 'a', 3)).toEqual({ ok: true, version: 3 })
    expect(proxy.connections).toBe(4)
  })

  it('O58: a slow server is unavailable after the timeout of the store, and nothing happens twice', async () => {
    const server = await start()
    await open({ url: server.url, prefix: 'slow' }).compareAndSet('s', 'a', null, 0, forever)
    const store = open({ url: server.url, prefix: 'slow', timeoutMs: 200 })
    expect(await answered(() => store.get('s', 'a'))).toMatchObject({ status: 'found' })
    server.freeze()
    await Promise.all(
      callsOf(store)
        .slice(0, 2)
        .map((call) => expect(call()).rejects.toMatchObject({ code: 'store-unavailable' })),
    )
    server.thaw()
    // The change was either made late or given up.
    expect(await answered(() => store.get('s', 'a'))).toMatchObject({
      value: { version: expect.toSatisfy((version: number) => version === 1 || version === 2) as unknown },
    })
  })

  it('O68: a full server refuses what needs room and writes nothing; reads, touches and deletes go on', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url, prefix: 'full' })
    await store.compareAndSet('s', 'a', null, 'x'.repeat(1_000), life)
    await store.compareAndSet('s', 'b', null, 'kept', life)
    await admin.configSet('maxmemory', '1')
    const keys = (await admin.keys('*')).sort()
    const before = await store.get('s', 'a')
    const full = { code: 'store-full', message: 'Redis is full: raise its maxmemory, or delete records (OOM).' }
    await expect(store.compareAndSet('s', 'new', null, 1, life)).rejects.toMatchObject(full)
    await expect(store.compareAndSet('s', 'a', 1, 'other', life)).rejects.toMatchObject(full)
    expect(await store.get('s', 'a')).toEqual(before)
    expect((await admin.keys('*')).sort()).toEqual(keys)
    expect((await store.list('s', {})).items.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(await store.touch('s', 'a', 90_000)).toBe(true)
    expect(await store.delete('s', 'a', 1)).toEqual({ ok: true, version: 1 })
    await admin.configSet('maxmemory', '0')
    expect(await store.compareAndSet('s', 'a', null, 1, life)).toEqual({ ok: true, version: 2 })
  })

  it('O58: an evicted value is reported as damage, not as an empty store', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url, prefix: 'evicted' })
    await store.compareAndSet('s', 'a', null, 1, life)
    await admin.del('evicted:{s}:value:a')
    const damaged = { code: 'store-corrupt', message: expect.stringMatching(/server evicted it/) as unknown }
    await expect(store.get('s', 'a')).rejects.toMatchObject(damaged)
    await expect(store.compareAndSet('s', 'a', null, 2, life)).rejects.toMatchObject(damaged)
    await expect(store.touch('s', 'a', 5)).rejects.toMatchObject(damaged)
    await expect(store.list('s', {})).rejects.toMatchObject(damaged)
    expect(await store.delete('s', 'a')).toEqual({ ok: true, version: 1 })
    await admin.set('evicted:{t}:records', 'of something else')
    await expect(store.get('t', 'a')).rejects.toMatchObject({
      code: 'store-corrupt',
      message: expect.stringMatching(/other data under the keys/) as unknown,
    })
  })

  it('O68: kill -9 during writes loses no acknowledged change, and no version is used twice', async () => {
    const server = await start()
    const store = open({ url: server.url, timeoutMs: 10_000 })
    await store.compareAndSet('s', 'count', null, 0, forever)
    const acknowledged: number[] = []
    let killed = false
    const writer = async (): Promise<void> => {
      while (!killed || acknowledged.length < 200) {
        const read = await store.get('s', 'count')
        if (read.status !== 'found') throw new Error(read.status)
        const result = await store.compareAndSet('s', 'count', read.value.version, Number(read.value.value) + 1, forever)
        if (result.ok) acknowledged.push(result.version)
        if (acknowledged.length >= 100 && !killed) {
          killed = true
          await server.kill()
          await server.start()
        }
      }
    }
    await Promise.all(Array.from({ length: 8 }, writer))
    const read = await store.get('s', 'count')
    expect(read).toMatchObject({ value: { version: acknowledged.length + 1, value: acknowledged.length } })
    expect(new Set(acknowledged).size).toBe(acknowledged.length)
  })

  it('O68: it works on a cluster whose nodes share the spaces', { timeout: 60_000 }, async () => {
    const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '5000' }
    const servers = [await start(settings), await start(settings)]
    const admins = await Promise.all(servers.map(({ url }) => clientOf(url)))
    await admins[0]?.clusterAddSlotsRange({ start: 0, end: 8_191 })
    await admins[1]?.clusterAddSlotsRange({ start: 8_192, end: 16_383 })
    await admins[0]?.clusterMeet('127.0.0.1', servers[1]?.port ?? 0)
    for (const admin of admins)
      await expect
        .poll(async () => String(await admin.clusterInfo()), { timeout: 30_000 })
        .toMatch(/cluster_state:ok[^]*cluster_known_nodes:2/)

    const cluster = createCluster({ rootNodes: servers.map(({ url }) => ({ url })) })
    clients.push(cluster)
    const store = open({ client: cluster })
    const spaces = ['a', 'b', 'c', 'd', '{', '}', '{}', '%', 'a}b', 'ä']
    for (const space of spaces) {
      for (const id of ['one', 'two', '{three}'])
        await store.compareAndSet(space, id, null, [space, id], { ttlMs: id === 'two' ? 1 : 60_000 })
      expect(await store.touch(space, 'one', 60_000)).toBe(true)
      expect(await store.delete(space, '{three}')).toEqual({ ok: true, version: 1 })
    }
    for (const space of spaces)
      await expect.poll(async () => (await store.list(space, {})).items.map(({ value }) => value)).toEqual([[space, 'one']])
    expect(await store.sweep(100)).toBe(spaces.length)
    expect(await Promise.all(admins.map((admin) => admin.dbSize()))).toEqual([
      expect.toSatisfy((keys: number) => keys > 3),
      expect.toSatisfy((keys: number) => keys > 3),
    ])

    await admins[1]?.configSet('maxmemory-policy', 'allkeys-lru')
    await expect(open({ client: cluster }).open()).rejects.toMatchObject({ code: 'invalid-config' })
    const single = open({ url: servers[0]?.url ?? '' })
    await expect(Promise.all(spaces.map((space) => single.get(space, 'one')))).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringMatching(/createCluster/) as unknown,
    })
  })

  it('O68: a client passed by the caller is connected, used and left open', async () => {
    const server = await start()
    const proxy = await proxyTo(server.port)
    const client = createClient({ url: `redis://127.0.0.1:${proxy.port}` })
    clients.push(client)
    const store = open({ client, timeoutMs: 2_000 })
    expect(await store.compareAndSet('s', 'a', null, 1, life)).toEqual({ ok: true, version: 1 })
    // The user has no error listener, without which a lost connection ends the process.
    proxy.next = 'cut'
    expect(await store.compareAndSet('s', 'a', 1, 2, life)).toEqual({ ok: true, version: 2 })
    await store.close()
    await expect(store.get('s', 'a')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/closed/) as unknown,
    })
    expect(await client.ping()).toBe('PONG')
  })

  it('O68: a process exits when its calls have ended, neither earlier nor at a lost connection', async () => {
    const server = await start()
    const program = `
      import { redisStateStore } from '@bowline/redis'
      const store = redisStateStore({ url: ${JSON.stringify(server.url)}, timeoutMs: 20_000 })
      console.log(JSON.stringify(await store.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })))
      process.stdin.once('data', async () => {
        process.stdin.unref()
        console.log(JSON.stringify(await store.compareAndSet('s', 'a', 1, 2, { ttlMs: 'never' })))
      })`
    const child = spawn(process.execPath, [...bundledFlags(), '--input-type=module', '--eval', program], {
      cwd: `${import.meta.dirname}/..`,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    // Keeps a line that comes before it is awaited.
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    expect(await lines.next()).toMatchObject({ value: '{"ok":true,"version":1}' })
    await server.kill()
    child.stdin.write('go on\n')
    await server.start()
    expect(await lines.next()).toMatchObject({ value: '{"ok":true,"version":2}' })
    expect(await exited).toEqual([0, null])
  })

  it('O57: a value that is too large is refused with its size, before it is sent', async () => {
    const store = redisStateStore({ url: 'redis://127.0.0.1:1', maxRecordBytes: 10, onWarning: () => undefined })
    const message = 'A state record must have at most 10 bytes; this one has 12. Store less of it.'
    await expect(store.compareAndSet('s', 'a', null, 'xxxxxxxxxx', life)).rejects.toMatchObject({ code: 'entry-too-large', message })
  })

  it('O58: a store that is closed while it connects stays closed', async () => {
    const server = await start()
    const admin = await clientOf(server.url)
    const store = open({ url: server.url })
    const opening = store.open().catch((error: unknown) => error)
    await store.close()
    expect(SessionError.isInstance(await opening) || (await opening) === undefined).toBe(true)
    await expect(store.get('s', 'a')).rejects.toMatchObject({ code: 'store-unavailable' })
    await expect.poll(async () => ((await admin.sendCommand(['CLIENT', 'LIST'])) as unknown as string).trim().split('\n').length).toBe(1)
  })
})

describe('the options of redisStateStore', () => {
  it('O65: a missing or unreadable URL throws at creation and is not shown', () => {
    const cases = [
      [{}, 'redisStateStore needs a server: give it url or client, or set the variable REDIS_URL.'],
      [{ environment: { REDIS_URL: '' } }, 'redisStateStore needs a server: give it url or client, or set the variable REDIS_URL.'],
      [{ url: 'https://:secret@host' }, 'url must be redis://host:port or rediss://host:port.'],
      [{ url: 'secret' }, 'url must be redis://host:port or rediss://host:port.'],
      [{ environment: { REDIS_URL: 'http://:secret@host' } }, 'The variable REDIS_URL must be redis://host:port or rediss://host:port.'],
      [
        { url: 'redis://host', prefix: '{x}' },
        'prefix must be a text of 1 to 64 letters, digits and . _ : / -; received a text of 3 characters.',
      ],
    ] as const
    for (const [options, message] of cases) {
      expect(() => redisStateStore({ environment: {}, ...options })).toThrow(
        expect.objectContaining({ code: 'invalid-config', message }) as Error,
      )
    }
    const client = createClient()
    expect(() => redisStateStore({ client, url: 'redis://host' })).toThrow(/both url and client/)
    expect(redisStateStore({ environment: { REDIS_URL: 'redis://host' } })).toMatchObject({ open: expect.any(Function) as unknown })
  })
})
