import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import type { Principal } from '../../src/auth/principal.ts'
import { defaultLimits } from '../../src/limits.ts'
import type { RateLimitPolicy, RateLimitState } from '../../src/rate/rate-limiter.ts'
import { RateLimits } from '../../src/rate/rate-limits.ts'

const ann: Principal = { id: 'ann', tenant: 'red', scopes: [] }
type Answer = (kind: 'take' | 'look', name: string, key: string) => Promise<RateLimitState>
const open: RateLimitState = { allowed: true, remaining: 4, resetMs: 1500 }
const full: RateLimitState = { allowed: false, remaining: 0, resetMs: 2500.4 }

function counting(answer: Answer, limits: object = { requestsPerMinute: 10, workPerMinute: 5, authFailuresPerMinute: 3 }) {
  const clock = manualClock(0)
  const asked: string[] = []
  const policies: RateLimitPolicy[] = []
  const faults: unknown[] = []
  const ask = (kind: 'take' | 'look', name: string) => (key: string) => {
    asked.push(`${kind} ${name} ${key}`)
    return answer(kind, name, key)
  }
  const create = (policy: RateLimitPolicy) => {
    policies.push(policy)
    return { take: ask('take', policy.name), look: ask('look', policy.name) }
  }
  const rates = new RateLimits({ create, limits: { ...defaultLimits, ...limits }, clock, onFault: (error) => faults.push(error) })
  return { rates, clock, asked, policies, faults }
}

describe('V75: buckets', () => {
  it('V75: each has its own points for a minute; without a limit there is no bucket', () => {
    expect(counting(async () => open).policies).toEqual([
      { name: 'requests', points: 10, windowMs: 60_000 },
      { name: 'work', points: 5, windowMs: 60_000 },
      { name: 'control', points: 10, windowMs: 60_000 },
      { name: 'auth-failures', points: 3, windowMs: 60_000 },
    ])
    const { policies } = counting(async () => open, { requestsPerMinute: 10, workPerMinute: Infinity, authFailuresPerMinute: Infinity })
    expect(policies.map(({ name }) => name)).toEqual(['requests', 'control'])
  })

  it.each([
    ['read', ['take requests red/ann']],
    ['work', ['take requests red/ann', 'take work red/ann']],
    ['control', ['take control red/ann']],
  ] as const)('V76: %s takes points from its buckets, by tenant and principal, and returns what is left', async (rate, taken) => {
    const { rates, asked, clock } = counting(async () => open)
    const headers = await rates.take(rate, ann)
    expect(asked).toEqual(taken)
    const names = taken.map((each) => each.split(' ')[1])
    expect(headers['ratelimit']).toBe(names.map((name) => `"${name}";r=4;t=2`).join(', '))
    expect(headers['ratelimit-policy']).toBe(names.map((name) => `"${name}";q=${name === 'work' ? 5 : 10};w=60`).join(', '))
    expect(clock.pendingTimers).toBe(0)
  })

  it('V79: the first full bucket refuses, with its wait, and the next one is not asked', async () => {
    const { rates, asked } = counting(async () => full)
    await expect(rates.take('work', ann)).rejects.toMatchObject({
      code: 'rate-limited',
      retryAfterMs: 2501,
      message: 'The limit per minute is reached (requests of this kind: 10). Retry later.',
      headers: { ratelimit: '"requests";r=0;t=3' },
    })
    expect(asked).toEqual(['take requests red/ann'])
    const second = counting(async (_kind, name) => (name === 'work' ? { ...full, resetMs: 0 } : open))
    await expect(second.rates.take('work', ann)).rejects.toMatchObject({
      code: 'rate-limited',
      retryAfterMs: 1,
      message: expect.stringContaining('(requests of this kind: 5)'),
      headers: { ratelimit: '"requests";r=4;t=2, "work";r=0;t=0' },
    })
  })

  it('V80: a limiter that fails, or hangs for a second, lets reads pass and refuses work', async () => {
    for (const answer of [() => Promise.reject(new Error('away')), () => new Promise<never>(() => undefined)]) {
      const { rates, clock, faults } = counting(answer)
      const reading = rates.take('read', ann)
      await clock.advance(1000)
      expect(await reading).toEqual({})
      expect(faults).toHaveLength(1)
      const working = expect(rates.take('work', ann)).rejects.toMatchObject({ code: 'store-unavailable' })
      await clock.advance(1000)
      await working
      const controlling = rates.take('control', ann)
      await clock.advance(1000)
      expect(await controlling).toEqual({})
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('V80: a limiter that answers just within the second counts', async () => {
    const gate = Promise.withResolvers<RateLimitState>()
    const { rates, clock } = counting(() => gate.promise)
    const reading = rates.take('read', ann)
    await clock.advance(999)
    gate.resolve(open)
    expect(await reading).toHaveProperty('ratelimit')
  })

  it('V75: failed logins are counted by network, and can be read without counting', async () => {
    const { rates, asked } = counting(async () => open)
    await rates.checkAddress('2001:db8::5')
    await rates.countFailure('2001:db8::5')
    await rates.countFailure(undefined)
    expect(asked).toEqual(['look auth-failures 2001:db8:0:0::/64', 'take auth-failures 2001:db8:0:0::/64', 'take auth-failures unknown'])
    const refusing = counting(async () => full)
    await expect(refusing.rates.checkAddress('1.2.3.4')).rejects.toMatchObject({
      code: 'rate-limited',
      message: 'The limit per minute is reached (failed logins: 3). Retry later.',
      headers: {},
    })
    await refusing.rates.countFailure('1.2.3.4')
    const away = counting(() => Promise.reject(new Error('away')))
    await away.rates.checkAddress('1.2.3.4')
    expect(away.faults).toHaveLength(1)
  })

  it('V75: a failed login is counted before it is answered', async () => {
    const gate = Promise.withResolvers<RateLimitState>()
    const { rates, clock } = counting(() => gate.promise)
    let isAnswered = false
    const answered = rates.countFailure('1.2.3.4').then(() => void (isAnswered = true))
    await clock.advance(0)
    expect(isAnswered).toBe(false)
    gate.resolve(open)
    await answered
  })

  it('V75: without a limiter nothing is counted', async () => {
    const rates = new RateLimits({ create: undefined, limits: defaultLimits, clock: manualClock(0), onFault: () => undefined })
    expect(await rates.take('work', ann)).toEqual({})
    await rates.checkAddress('1.2.3.4')
    await rates.countFailure('1.2.3.4')
  })
})
