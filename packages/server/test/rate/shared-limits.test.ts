import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { systemClock, type Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { stateRateLimiter } from '@bowline/server'
import { createNodeServer } from '@bowline/server/node'
import { memoryStateStore } from '@bowline/sessions'
import { startKvServer, type KvServer } from '@bowline/testing/stores'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { bench, refusal } from '../support/bench.ts'
import { openLimiter } from '../support/shared-limiter.ts'

const run = promisify(execFile)
const list = '/api/agent/sessions'
const points = 10

describe.skipIf(isRedisUrlMissing)(titleWithRedis('servers that count together', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  let kv: KvServer
  beforeAll(async () => {
    kv = await startKvServer({ redisUrl: redis.url })
  })
  afterAll(() => kv.close())

  const overRedis = () => ({ REDIS_URL: redis.url })
  const overKv = () => ({ KV_REST_API_URL: kv.url, KV_REST_API_TOKEN: kv.token })

  it.each([
    ['RateLimiterRedis', 'library', overRedis],
    ['Redis state', 'state', overRedis],
    ['KV state', 'state', overKv],
  ] as const)(
    'V75, O70: two in one process and one in another together take no more points than there are, on %s',
    async (_name, kind, environment) => {
      const id = randomUUID()
      const start = async () => {
        const limiter = await openLimiter(kind, environment())
        const auth = () => Promise.resolve({ id, tenant: 'demo', scopes: ['admin' as const] })
        // The limiter must not time out on a busy machine.
        const clock: Clock = { ...systemClock, setTimer: () => () => undefined }
        const served = await bench({
          make: createNodeServer,
          clock,
          auth,
          limits: { requestsPerMinute: points },
          rateLimiter: limiter.create,
        })
        onTestFinished(() => limiter.close().then(() => undefined))
        return served
      }
      const servers = [await start(), await start()] as const
      const args = [...nodeFlags, program('server/test/fixtures/counting-process'), kind, `demo/${id}`, `${points}`, '8']
      const [elsewhere, ...answers] = await Promise.all([
        run(process.execPath, args, { env: { ...process.env, ...environment() } }),
        ...servers.flatMap(({ get }) => Array.from({ length: 4 }, () => get(list))),
      ])
      const here = answers.filter(({ status }) => status === 200).length
      expect(here + Number(elsewhere.stdout)).toBe(points)
      for (const { get, faults } of servers) {
        const refused = await get(list)
        expect(refused.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/)
        await refusal(refused, 429, 'rate-limited')
        expect(faults).toEqual([])
      }
    },
  )
})

describe('a limiter over a state store', () => {
  const policy = { name: 'requests', points: 3, windowMs: 1_000 } as const
  const setup = () => {
    const clock = manualClock(1_000)
    const store = memoryStateStore({ clock })
    return { clock, store, limiter: stateRateLimiter(store, { clock })(policy) }
  }

  it('V75: is full again when its window is over, which begins with the first point', async () => {
    const { clock, limiter } = setup()
    expect(await limiter.look('a')).toEqual({ allowed: true, remaining: 3, resetMs: 0 })
    expect(await limiter.take('a')).toEqual({ allowed: true, remaining: 2, resetMs: 1_000 })
    await clock.advance(900)
    const taken = await Promise.all([limiter.take('a'), limiter.take('a'), limiter.take('a')])
    expect(taken).toEqual([1, 0, 0].map((remaining, index) => ({ allowed: index < 2, remaining, resetMs: 100 })))
    expect(await limiter.look('a')).toEqual({ allowed: false, remaining: 0, resetMs: 100 })
    expect(await limiter.take('b')).toMatchObject({ allowed: true, remaining: 2 })
    await clock.advance(100)
    expect(await limiter.look('a')).toEqual({ allowed: true, remaining: 3, resetMs: 0 })
    expect(await limiter.take('a')).toEqual({ allowed: true, remaining: 2, resetMs: 1_000 })
  })

  it('V75: counts concurrent requests in one change, and stores no name', async () => {
    const { store, limiter } = setup()
    await Promise.all(Array.from({ length: 20 }, () => limiter.take('demo/ann')))
    const { items } = await store.list('server-rate-limits', {})
    expect(items).toMatchObject([{ version: 2, value: { taken: 3, endsAt: 2_000 } }])
    expect(JSON.stringify(items)).not.toContain('ann')
  })

  it('V75: a process whose clock is late waits no longer than a window', async () => {
    const { store, limiter } = setup()
    await stateRateLimiter(store, { clock: manualClock(61_000) })(policy).take('a')
    expect(await limiter.take('a')).toEqual({ allowed: true, remaining: 1, resetMs: 1_000 })
  })

  it('V80: rejects if the store fails, or other writers win each time, and counts the next one', async () => {
    const { clock, store } = setup()
    let fails = true
    const failing = { ...store, get: (space: string, id: string) => (fails ? Promise.reject(new Error('away')) : store.get(space, id)) }
    const limiter = stateRateLimiter(failing, { clock })(policy)
    await expect(limiter.take('a')).rejects.toThrow('away')
    await expect(limiter.look('a')).rejects.toThrow('away')
    fails = false
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 2 })
    let tries = 0
    const contested = {
      ...store,
      compareAndSet: () => Promise.resolve({ ok: false as const, reason: 'conflict' as const, tried: ++tries }),
    }
    await expect(stateRateLimiter(contested, { clock })(policy).take('a')).rejects.toThrow('in each of 20 tries')
    expect(tries).toBe(20)
  })
})
