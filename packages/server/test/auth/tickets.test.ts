import { defineAgent } from '@bowline/agent-loop'
import type { Ticket } from '@bowline/client'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, memoryStateStore, type StateStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { createServer, createToken, type Principal } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { flexibleRateLimiter } from '@bowline/server/rate-limits'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Tickets } from '../../src/auth/tickets.ts'
import { bench, refusal, say, stores, type Bench } from '../support/bench.ts'
import { allFrames, framesUntil } from '../support/frames.ts'

const session = '/api/agent/session'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const isSettled = ({ data }: { data: { type: string } }) => data.type === 'settled'

async function withToken(options: Parameters<typeof bench>[0] = {}) {
  const { token, config } = await createToken({ id: 'ada', tenant: 'demo', scopes: ['admin'] })
  const it = await bench({ steps: [{ text: 'Hi.' }, { text: 'Hi.' }], auth: { tokens: [config] }, ...options })
  for (const sessionId of ['mine', 'other']) await allFrames(await it.execute({ sessionId, input: say('hi'), context: {} }, bearer(token)))
  return { ...it, token, config }
}

async function ticketFor(it: Bench, token: string, id = 'mine'): Promise<Ticket> {
  const answer = await it.post(`${session}/${id}/ticket`, {}, bearer(token))
  expect(answer.status).toBe(201)
  return (await answer.json()) as Ticket
}

describe.each(stores)('over the $name store', ({ make }) => {
  it('V43: a ticket opens one stream of its session, without any header', async () => {
    const it = await withToken({ store: make() })
    const { ticket } = await ticketFor(it, it.token)
    const events = `${session}/mine/events?from=start&ticket=${ticket}`
    const frames = await framesUntil(await it.get(events), isSettled)
    expect(frames[0]?.data.type).toBe('session-start')
    // A browser that reconnects by itself with the same address must get a refusal.
    await refusal(it.get(events, { 'last-event-id': frames.at(-1)?.id ?? '' }), 401, 'unauthenticated')
  })

  it('V43: of all requests that use one ticket at the same time, one gets in', async () => {
    const it = await withToken({ store: make() })
    const { ticket } = await ticketFor(it, it.token)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => it.get(`${session}/mine/events?until=settled&from=start&ticket=${ticket}`)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 9 }, () => 401)])
  })

  it('V43: expires after 60 s, and an unused ticket is removed', async () => {
    const clock = manualClock(Date.parse('2030-01-01'))
    const store = make()
    const it = await withToken({ store, clock, runtimeOptions: { clock } })
    const early = await ticketFor(it, it.token)
    expect(early.expiresAt).toBe(clock.now() + 60_000)
    await clock.advance(59_999)
    const { ticket } = await ticketFor(it, it.token)
    expect((await it.get(`${session}/mine/events?until=settled&ticket=${early.ticket}`)).status).toBe(204)
    await clock.advance(60_000)
    await refusal(it.get(`${session}/mine/events?ticket=${ticket}`), 401, 'unauthenticated')
    for (let count = 0; count < 3; count++) await ticketFor(it, it.token)
    await clock.advance(60_000)
    await ticketFor(it, it.token)
    expect((await store.state.list('server-tickets', {})).items).toHaveLength(1)
  })
})

it('V43: reads only its session, and does nothing else', async () => {
  const it = await withToken()
  const spend = async (path: string) => it.get(path.replace('TICKET', (await ticketFor(it, it.token)).ticket))
  await refusal(spend(`${session}/other/events?ticket=TICKET`), 401, 'unauthenticated')
  await refusal(spend(`${session}/mine?ticket=TICKET`), 401, 'unauthenticated')
  await refusal(spend('/api/agent/sessions?ticket=TICKET'), 401, 'unauthenticated')
  const { ticket } = await ticketFor(it, it.token)
  await refusal(it.post(`${session}/mine/stop?ticket=${ticket}`, {}), 401, 'unauthenticated')
  await refusal(it.get(`${session}/mine/events`, bearer(ticket)), 401, 'unauthenticated')
  await refusal(it.post(`${session}/none/ticket`, {}, bearer(it.token)), 404, 'session-missing')
})

it('V43: a ticket is stored nowhere: the store has its hash, logs and refusals have nothing', async () => {
  const store = memoryStore()
  const it = await withToken({ store })
  const { ticket } = await ticketFor(it, it.token)
  expect(JSON.stringify((await store.state.list('server-tickets', {})).items)).not.toContain(ticket)
  it.runtime.store.state.delete = () => Promise.reject(new Error(`cannot delete ${ticket}`))
  const problem = await refusal(it.get(`${session}/mine/events?ticket=${ticket}`), 500, 'internal')
  expect(JSON.stringify([problem, it.faults])).not.toContain(ticket)
  expect(it.faults).toHaveLength(1)
})

it('V43: does not outlive the credentials that created it', async () => {
  const clock = manualClock(Date.parse('2030-01-01'))
  const { token, config } = await createToken({ id: 'ada', tenant: 'demo', scopes: ['admin'], expiresAt: '2030-01-01T00:00:30Z' })
  const it = await bench({ clock, steps: [{ text: 'Hi.' }], auth: { tokens: [config] } })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }, bearer(token)))
  const { ticket } = await ticketFor(it, token)
  await clock.advance(30_000)
  await refusal(it.get(`${session}/mine/events?ticket=${ticket}`), 401, 'unauthenticated')
})

it('V43: every process with the same store accepts it, once', async () => {
  const store = memoryStore()
  const it = await withToken({ store })
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })], store })
  await runtime.start()
  const other = await serve(createServer({ runtime, auth: { tokens: [it.config] } }), { port: 0 })
  onTestFinished(() => other.close({ drainMs: 0 }))
  const { ticket } = await ticketFor(it, it.token)
  const path = `${session}/mine/events?until=settled&ticket=${ticket}`
  expect((await fetch(other.url + path)).status).toBe(204)
  await refusal(it.get(path), 401, 'unauthenticated')
})

it('V75: tickets that are guessed count as failed logins', async () => {
  const it = await withToken({ rateLimiter: flexibleRateLimiter(), limits: { authFailuresPerMinute: 2 } })
  for (let count = 0; count < 2; count++) await refusal(it.get(`${session}/mine/events?ticket=bwlt_x`), 401, 'unauthenticated')
  await refusal(it.get(`${session}/mine/events?ticket=bwlt_x`), 429, 'rate-limited')
})

describe('V43: tickets in the store', () => {
  const start = Date.parse('2030-01-01')
  const ada: Principal = { id: 'ada', tenant: 'demo', scopes: ['admin'] }

  function ticketsOver(change: (state: StateStore) => Partial<StateStore> = () => ({})) {
    const clock = manualClock(start)
    const state = memoryStateStore({ clock })
    const tickets = new Tickets(() => ({ ...state, ...change(state) }), clock)
    const stored = async () => (await state.list('server-tickets', { limit: 1000 })).items.length
    return { clock, tickets, stored }
  }

  it('V43: a ticket has 256 random bits, and its holder may only read, for as long as the principal', async () => {
    const { tickets } = ticketsOver()
    const made = await Promise.all([tickets.create(ada, 's1'), tickets.create({ ...ada, expiresAt: start + 90_000 }, 's1')])
    for (const { ticket, expiresAt } of made)
      expect([/^bwlt_[0-9a-z]{9}_[\w-]{43}$/.test(ticket), expiresAt]).toEqual([true, start + 60_000])
    const principals = await Promise.all(made.map(({ ticket }) => tickets.redeem(ticket, 's1')))
    expect(principals).toEqual([
      { id: 'ada', tenant: 'demo', scopes: ['sessions:read'] },
      { id: 'ada', tenant: 'demo', scopes: ['sessions:read'], expiresAt: start + 90_000 },
    ])
  })

  it('V43: a ticket is valid up to its last millisecond, and not beyond the end of its principal', async () => {
    const { tickets, clock } = ticketsOver()
    const create = async (more: Partial<Principal> = {}) => (await tickets.create({ ...ada, ...more }, 's1')).ticket
    const [inTime, late] = [await create(), await create()]
    const [inTimeToo, lateToo] = [await create({ expiresAt: start + 30_000 }), await create({ expiresAt: start + 30_000 })]
    const refused = { code: 'unauthenticated' }
    await clock.advance(29_999)
    expect(await tickets.redeem(inTimeToo, 's1')).toMatchObject({ id: 'ada' })
    await clock.advance(1)
    await expect(tickets.redeem(lateToo, 's1')).rejects.toMatchObject(refused)
    await clock.advance(29_999)
    expect(await tickets.redeem(inTime, 's1')).toMatchObject({ id: 'ada' })
    await clock.advance(1)
    await expect(tickets.redeem(late, 's1')).rejects.toMatchObject(refused)
  })

  it('V43: each new ticket removes up to twenty expired ones, the oldest first', async () => {
    const { tickets, clock, stored } = ticketsOver()
    for (let count = 0; count < 25; count++) await tickets.create(ada, 's1')
    await clock.advance(1000)
    for (let count = 0; count < 100; count++) await tickets.create(ada, 's1')
    await clock.advance(59_000)
    await tickets.create(ada, 's1')
    expect(await stored()).toBe(25 + 100 - 20 + 1)
    await tickets.create(ada, 's1')
    expect(await stored()).toBe(100 + 2)
    await tickets.create(ada, 's1')
    expect(await stored()).toBe(100 + 3)
  })

  it('V65: tickets from before a reload are refused, also from the same millisecond, and later ones are not', async () => {
    const { tickets, clock } = ticketsOver()
    const before = await tickets.create(ada, 's1')
    tickets.revokeAll()
    const atOnce = await tickets.create(ada, 's1')
    for (const { ticket } of [before, atOnce]) await expect(tickets.redeem(ticket, 's1')).rejects.toMatchObject({ code: 'unauthenticated' })
    await clock.advance(1)
    const { ticket } = await tickets.create(ada, 's1')
    expect(await tickets.redeem(ticket, 's1')).toMatchObject({ id: 'ada' })
  })

  it('V43: without its store no ticket is created', async () => {
    const away = new Error('the store is away')
    await expect(ticketsOver(() => ({ list: () => Promise.reject(away) })).tickets.create(ada, 's1')).rejects.toBe(away)
    const taken = ticketsOver(() => ({ compareAndSet: () => Promise.resolve({ ok: false, current: null } as never) }))
    await expect(taken.tickets.create(ada, 's1')).rejects.toThrow('Two tickets have one id.')
  })
})
