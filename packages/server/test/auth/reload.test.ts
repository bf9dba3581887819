import { createToken, ServerError, type AuthConfig, type Principal } from '@bowline/server'
import type { Ticket } from '@bowline/client'
import { expect, it } from 'vitest'
import { bench, gate, refusal, say } from '../support/bench.ts'
import { allFrames, framesOf, type Frame } from '../support/frames.ts'

const list = '/api/agent/sessions'
const events = '/api/agent/session/mine/events'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const expired = { type: 'stream-end', reason: 'token-expired', resume: true }

/** Creates a server with three tokens, a session, and a run that continues until the test ends. */
async function withTokens() {
  const tokens = await Promise.all(['ada', 'bob', 'eve'].map((id) => createToken({ id, tenant: 'demo', scopes: ['admin'] })))
  const [ada, bob, eve] = tokens as [(typeof tokens)[0], (typeof tokens)[0], (typeof tokens)[0]]
  const it = await bench({
    auth: { tokens: tokens.map(({ config }) => config) },
    steps: [{ text: 'Hi.' }, { text: 'And', hang: 'middle' }],
  })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }, bearer(ada.token)))
  return { ...it, ada, bob, eve }
}

/** Reads until the stream ends. Resolves when the first frame is there. */
async function follow(answer: Response): Promise<{ readonly frames: Frame[]; readonly ended: Promise<unknown> }> {
  const source = framesOf(answer)
  const first = await source.next()
  const frames: Frame[] = first.done ? [] : [first.value]
  const ended = (async () => {
    for await (const frame of source) frames.push(frame)
    return frames.at(-1)?.data
  })()
  return { frames, ended }
}

it('V65: replaces tokens without a restart, and ends the streams of a removed token', async () => {
  const { get, execute, server, ada, bob, eve } = await withTokens()
  const gone = await follow(await get(events, bearer(ada.token)))
  const running = await follow(await execute({ sessionId: 'mine', input: say('more') }, bearer(ada.token)))
  const disabled = await follow(await get(events, bearer(eve.token)))
  const stays = await follow(await get(events, bearer(bob.token)))
  const added = await createToken({ id: 'new', tenant: 'demo', scopes: ['admin'] })
  await server.reload({ tokens: [bob.config, { ...eve.config, disabled: true }, added.config] })
  expect([await gone.ended, await running.ended, await disabled.ended]).toEqual([expired, expired, expired])
  for (const { token } of [ada, eve]) await refusal(get(list, bearer(token)), 401, 'unauthenticated')
  for (const { token } of [bob, added]) expect((await get(list, bearer(token))).status).toBe(200)
  const ends = () => stays.frames.filter(({ data }) => data.type === 'stream-end')
  expect(ends()).toEqual([])
  await server.reload({ tokens: [] })
  expect(await stays.ended).toEqual(expired)
  expect(ends()).toHaveLength(1)
})

it('V65: a token with fewer rights, another tenant or another end ends its streams too; an unchanged token does not', async () => {
  const { get, server, bob } = await withTokens()
  const changes = [{ scopes: ['sessions:read'] as const }, { tenant: 'other' }, { expiresAt: '2999-01-01' }]
  for (const change of changes) {
    const reading = await follow(await get(events, bearer(bob.token)))
    await server.reload({ tokens: [{ ...bob.config, scopes: [...bob.config.scopes] }] })
    await server.reload({ tokens: [{ ...bob.config, ...change }] })
    expect(await reading.ended).toEqual(expired)
    expect(reading.frames.filter(({ data }) => data.type === 'stream-end')).toHaveLength(1)
    await server.reload({ tokens: [bob.config] })
  }
})

it('V65: every reload ends tickets and their streams', async () => {
  const { get, post, server, ada } = await withTokens()
  const ticket = async () => ((await (await post('/api/agent/session/mine/ticket', {}, bearer(ada.token))).json()) as Ticket).ticket
  const reading = await follow(await get(`${events}?ticket=${await ticket()}`))
  const unused = await ticket()
  await server.reload({ tokens: [ada.config] })
  expect(await reading.ended).toEqual(expired)
  await refusal(get(`${events}?ticket=${unused}`), 401, 'unauthenticated')
})

it('V65: a stream that was being opened while the tokens were replaced ends as well', async () => {
  const { get, server, runtime, ada } = await withTokens()
  const asked = gate()
  const hold = gate()
  const readSession = runtime.store.readSession.bind(runtime.store)
  runtime.store.readSession = async (key) => {
    asked.open()
    await hold.passed
    return readSession(key)
  }
  const answer = get(events, bearer(ada.token))
  await asked.passed
  await server.reload({ tokens: [] })
  hold.open()
  expect((await allFrames(await answer)).at(-1)?.data).toEqual(expired)
})

it('V65: the verifier is asked again, and streams end if it cannot answer', async () => {
  const principal: Principal = { id: 'page', tenant: 'demo', scopes: ['admin'] }
  const known = () => Promise.resolve(principal)
  const it = await bench({ auth: known, steps: [{ text: 'Hi.' }] })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const reading = await follow(await it.get(events))
  await it.server.reload(known)
  const before = reading.frames.length
  await it.server.reload(() => Promise.reject(new Error('the database is away')))
  expect(await reading.ended).toEqual(expired)
  expect(reading.frames.length).toBeGreaterThan(before)
})

it('V65: an invalid configuration changes nothing', async () => {
  const { get, server, ada } = await withTokens()
  const bad: AuthConfig = { tokens: [{ ...ada.config, tenant: 'a:b' }, ada.config] }
  await expect(server.reload(bad)).rejects.toThrow(ServerError)
  await expect(server.reload(bad)).rejects.toThrow(/"a:b" is not a valid tenant name.*the id is used twice/s)
  await expect(server.reload('none')).rejects.toThrow(/cannot change to or from 'none'/)
  expect((await get(list, bearer(ada.token))).status).toBe(200)
  const open = await bench({ auth: 'none' })
  await expect(open.server.reload({ tokens: [] })).rejects.toThrow(/cannot change to or from 'none'/)
})
