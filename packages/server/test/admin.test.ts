import { defineAgent } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { createAdmin, type AdminOptions } from '@bowline/client/admin'
import { createModels } from '@bowline/llm'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createToken, type Scope } from '@bowline/server'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { bench, refusal, say, stores } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const minuteMs = 60_000
const noon = Date.UTC(2026, 10, 26, 12)

/** Waits of a backoff pass at once. No other timer of the client ever fires. */
const clientClock: AdminOptions['clock'] = {
  now: () => 0,
  setTimer(atMs, run) {
    const timer = atMs === 0 ? setImmediate(run) : undefined
    return () => clearImmediate(timer)
  },
}

/** Returns a fetch that loses the first answer of every request after the server has handled it. */
function losing(): { readonly fetch: typeof fetch; readonly tries: () => number } {
  let tries = 0
  return {
    tries: () => tries,
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      if (++tries % 2 === 0) return answer
      await answer.arrayBuffer()
      throw new TypeError('the answer was lost')
    },
  }
}

/** Creates models whose answer costs 0.002. */
function pricedModels() {
  const model = scriptedModel(() => ({ text: 'Here.', usage: { input: 1_000, output: 500 } }))
  return createModels({
    providers: { test: { languageModel: () => model } },
    models: { 'test:m': { price: { input: '1', output: '2' }, maxOutputTokens: 1_000 } },
  })
}

const connect = (url: string, options: Partial<AdminOptions> = {}) =>
  createAdmin({ baseUrl: url, clock: clientClock, random: () => 0, ...options })

describe.each(stores)('the admin client against $name', ({ make }) => {
  it('V103, S210: creates, lists, pauses, resumes and deletes schedules, each once though the first answer to every request is lost', async () => {
    const clock = manualClock(noon)
    const { url, execute, runtime } = await bench({
      store: make(),
      clock,
      runtimeOptions: { clock },
      steps: [{ text: 'One.' }, { text: 'Two.' }],
    })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }))
    const lost = losing()
    const { schedules } = connect(url, { fetch: lost.fetch }).session('mine')
    const made = await schedules.create({ every: minuteMs, input: 'What is new?', onBusy: 'skip' })
    expect(made).toMatchObject({
      every: minuteMs,
      status: 'active',
      input: { role: 'user', content: 'What is new?' },
      onMissed: 'once',
      onBusy: 'skip',
      nextAt: noon + minuteMs,
    })
    expect(await schedules.list()).toEqual([made])
    const named = await schedules.create({ id: 'a daily/one', cron: '30 7 * * 1-5', timeZone: 'Europe/Oslo', input: say('Good morning.') })
    expect(named).toMatchObject({ id: 'a daily/one', cron: '30 7 * * 1-5', timeZone: 'Europe/Oslo' })
    await clock.advance(minuteMs)
    await runtime.sweep()
    expect((await schedules.list()).find(({ id }) => id === made.id)?.last).toMatchObject({ dueAt: noon + minuteMs })
    expect(await schedules.pause('a daily/one')).toMatchObject({ status: 'paused', nextAt: null })
    expect(await schedules.resume('a daily/one')).toMatchObject({ status: 'active' })
    for (const id of ['a daily/one', made.id, 'nobody']) expect(await schedules.delete(id)).toBeUndefined()
    expect(await schedules.list()).toEqual([])
    expect(lost.tries() % 2).toBe(0)
    await expect(schedules.pause('nobody')).rejects.toMatchObject({ code: 'unknown-schedule', status: 404 })
    await expect(schedules.create({ cron: 'at noon', input: 'x' })).rejects.toMatchObject({
      code: 'invalid-input',
      problem: { errors: [{ path: 'cron' }] },
    })
    await expect(connect(url).session('other').schedules.list()).rejects.toMatchObject({ code: 'session-missing' })
  })

  it('V103: lists labels of the active path and of another one', async () => {
    const { url, execute } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }))
    const session = createClient({ baseUrl: url }).session('mine')
    const [question, answer] = (await session.state()).messages
    await session.label(question?.id ?? '', 'Start')
    await session.label(answer?.id ?? '', 'Old end')
    const { labels } = connect(url).session('mine')
    expect(await labels()).toMatchObject([
      { entryId: question?.id, text: 'Start' },
      { entryId: answer?.id, text: 'Old end' },
    ])
    await session.switchTo(question?.id ?? '')
    expect(await labels()).toEqual([])
    const leaf = (await session.branches()).branches.find(({ active }) => !active)?.leaf ?? ''
    expect((await labels({ leaf })).map(({ text }) => text)).toEqual(['Start', 'Old end'])
    await expect(labels({ leaf: 'nobody' })).rejects.toMatchObject({ code: 'unknown-entry' })
  })

  it('V103, S213: lists failed deliveries by pages and sends them again', async () => {
    const runtimeOptions = {
      notify: { url: 'https://hooks.example/', events: ['settled'], secret: 'a secret of sixteen characters', retentionMs: 1 },
      webhooks: { resolve: () => Promise.resolve([]) },
    } as const
    const { url, execute } = await bench({ store: make(), runtimeOptions, steps: [{ text: 'One.' }, { text: 'Two.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }))
    await allFrames(await execute({ sessionId: 'mine', input: say('second') }))
    const { notices } = connect(url).session('mine')
    await expect.poll(async () => (await notices.list({ state: 'failed' })).notices.length, { timeout: 20_000 }).toBe(2)
    const {
      notices: [newest],
      nextCursor = '',
    } = await notices.list({ limit: 1 })
    expect(newest).toMatchObject({ n: 2, hook: 'default', type: 'settled', state: 'failed' })
    expect((await notices.list({ limit: 1, cursor: nextCursor })).notices).toMatchObject([{ n: 1 }])
    expect(await notices.resend(newest?.id ?? '')).toMatchObject({ id: newest?.id, state: 'pending' })
    await expect(notices.resend('made-up.1')).rejects.toMatchObject({ code: 'unknown-notice' })
  })

  it('V103: a ticket opens a stream of the session, and an unknown run cannot be recovered', async () => {
    const { token, config } = await createToken({ id: 'page', tenant: 'acme', scopes: ['sessions:read', 'sessions:write', 'approvals'] })
    const { url, execute, get } = await bench({ store: make(), steps: [{ text: 'One.' }], auth: { tokens: [config] } })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }, { authorization: `Bearer ${token}` }))
    const mine = connect(url, { token }).session('mine')
    const { ticket } = await mine.ticket()
    const frames = await allFrames(await get(`/api/agent/session/mine/events?cursor=0&until=settled&ticket=${ticket}`))
    expect(frames.map(({ data }) => data.type)).toContain('turn-end')
    await expect(mine.recover('no/body', 'stop')).rejects.toMatchObject({ code: 'unknown-run' })
  })

  it('D57: each authenticated caller learns its own identity and rights, and no more about itself', async () => {
    const clock = manualClock(noon)
    const expiresAt = noon + minuteMs
    const callers = { reader: ['sessions:read'], owner: ['admin'], nobody: [] } satisfies Record<string, Scope[]>
    const tokens = await Promise.all(Object.entries(callers).map(([id, scopes]) => createToken({ id, tenant: 'acme', scopes })))
    const [reader = '', owner = '', nobody = ''] = tokens.map(({ token }) => token)
    const configs = tokens.map(({ config }) =>
      config.id === 'reader' ? { ...config, expiresAt: new Date(expiresAt).toISOString() } : config,
    )
    const { url, get } = await bench({ store: make(), clock, auth: { tokens: configs } })
    const me = async (token: string) => connect(url, { token }).me()
    expect(await me(reader)).toEqual({ id: 'reader', tenant: 'acme', scopes: ['sessions:read'], expiresAt })
    expect(await me(owner)).toEqual({ id: 'owner', tenant: 'acme', scopes: ['admin'] })
    expect(await me(nobody)).toEqual({ id: 'nobody', tenant: 'acme', scopes: [] })
    await refusal(get('/api/me'), 401, 'unauthenticated')
    await clock.advance(minuteMs)
    await expect(me(reader)).rejects.toMatchObject({ code: 'unauthenticated', status: 401 })
  })

  it('V103, A197: a tenant with a budget reads its own spending, with the scope for it', async () => {
    const clock = manualClock(noon)
    const callers: readonly (readonly [id: string, tenant: string, scopes: readonly Scope[]])[] = [
      ['writer', 'acme', ['sessions:read', 'sessions:write']],
      ['payer', 'acme', ['spending']],
      ['other', 'rival', ['admin']],
    ]
    const tokens = await Promise.all(callers.map(([id, tenant, scopes]) => createToken({ id, tenant, scopes: [...scopes] })))
    const [writer = '', payer = '', other = ''] = tokens.map(({ token }) => token)
    const agents = [defineAgent({ name: 'assistant', model: 'test:m', models: pricedModels() })]
    const tenantBudget = { maxCost: (tenant: string) => (tenant === 'acme' ? '0.01' : undefined), window: 'day' } as const
    const { url, execute } = await bench({
      store: make(),
      clock,
      runtimeOptions: { clock, agents, tenantBudget },
      auth: { tokens: tokens.map(({ config }) => config) },
    })
    const spending = async (token: string) => connect(url, { token }).tenantSpending()
    const window = { currency: 'USD', windowStartsAt: Date.UTC(2026, 10, 26), windowEndsAt: Date.UTC(2026, 10, 27) }
    expect(await spending(payer)).toEqual({ tenant: 'acme', maxCost: '0.01', left: 0.01, ...window })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }, { authorization: `Bearer ${writer}` }))
    expect(await spending(payer)).toMatchObject({ tenant: 'acme', spent: { currency: 'USD', total: '0.002' }, left: 0.008 })
    expect(await spending(other)).toEqual({ tenant: 'rival', ...window })
    await expect(spending(writer)).rejects.toMatchObject({ code: 'scope-missing', status: 403 })
    await expect(spending('wrong')).rejects.toMatchObject({ code: 'unauthenticated' })
    await clock.advance(86_400_000)
    expect(await spending(payer)).not.toHaveProperty('spent')
  })
})

it('D57: fields of a verifier beside the principal are not returned, and a server without credentials says so', async () => {
  const known = { id: 'page', tenant: 'acme', scopes: ['agents:read'], mail: 'somebody@acme.example' } as const
  const { url } = await bench({ auth: () => Promise.resolve({ ...known, scopes: [...known.scopes] }) })
  expect(await connect(url).me()).toEqual({ id: 'page', tenant: 'acme', scopes: ['agents:read'] })
  expect(await connect((await bench()).url).me()).toEqual({ id: 'local', tenant: 'local', scopes: ['admin'] })
})

it('V103: without a budget the route does not exist, and a limit that cannot be read is a fault of the server', async () => {
  const without = await bench()
  await expect(connect(without.url).tenantSpending()).rejects.toMatchObject({ code: 'route-not-found', status: 404 })
  const failing = await bench({
    runtimeOptions: { tenantBudget: { maxCost: () => Promise.reject(new Error('no database')), window: 'day' } },
  })
  await expect(connect(failing.url).tenantSpending()).rejects.toMatchObject({
    code: 'internal',
    status: 500,
    message: 'The server failed.',
  })
  expect(failing.faults).toHaveLength(1)
})

it('the example of the documentation of the admin client runs unchanged against this server', async () => {
  const folder = join(import.meta.dirname, '..', '..', 'client')
  const example = /```ts check\n([\s\S]*?)```/.exec(await readFile(join(folder, '../../docs/guides/admin.md'), 'utf8'))?.[1] ?? ''
  const { token, config } = await createToken({ id: 'operator', tenant: 'acme', scopes: ['admin'] })
  const agents = [defineAgent({ name: 'assistant', model: 'test:m', models: pricedModels() })]
  const runtimeOptions = {
    agents,
    tenantBudget: { maxCost: '0.01', window: 'day' },
    webhooks: { resolve: () => Promise.resolve([]) },
    notify: { url: 'https://hooks.example/', events: ['settled'], secret: 'a secret of sixteen characters', retentionMs: 1 },
  } as const
  const { url, execute, runtime } = await bench({ runtimeOptions, auth: { tokens: [config] } })
  await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }, { authorization: `Bearer ${token}` }))
  const [key = ''] = (await runtime.sessions()).items.map((session) => session.key)
  const failed = async () => (await runtime.notices({ key, state: 'failed' })).items
  await expect.poll(async () => (await failed()).length, { timeout: 20_000 }).toBe(1)
  const before = await failed()
  const script = example.replace('http://127.0.0.1:8787', url)
  const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', script], {
    cwd: folder,
    env: { ...process.env, BOWLINE_TOKEN: token },
  })
  expect(stdout).toBe("active 0.002 0.008 USD acme [ 'admin' ]\n")
  expect((await runtime.session(key).schedules.list()).map(({ id, status }) => [id, status])).toEqual([['news', 'paused']])
  await expect
    .poll(async () => (await failed()).map(({ id, attempts }) => [id, attempts > (before[0]?.attempts ?? 0)]), { timeout: 20_000 })
    .toEqual([[before[0]?.id, true]])
})
