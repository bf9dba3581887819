import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startPostgres, testDatabase } from '../../../scripts/postgres.ts'
import { SessionError } from '@bowline/sessions'
import { SessionConnection } from '../src/store/session-connection.ts'
import type { SessionConnectionOptions, SessionUser } from '../src/store/session-connection.ts'
import { ask, clientsFor, placeOf } from './clients.ts'
import type { Place } from './clients.ts'
import { proxies } from './proxies.ts'

const database = testDatabase()
const startProxy = proxies()
const opened: SessionConnection[] = []

afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
})

interface Noted {
  readonly connection: SessionConnection
  readonly happened: string[]
  readonly errors: SessionError[]
}

/** Creates a connection whose users record their calls. */
function connectTo(place: Place, options: Partial<SessionConnectionOptions> = {}): Noted {
  const happened: string[] = []
  const errors: SessionError[] = []
  const user = (name: string): SessionUser => ({
    opened: async (session) => {
      await session.query('select 1')
      happened.push(`${name} opened`)
    },
    lost: () => void happened.push(`${name} lost`),
    closing: async () => void happened.push(`${name} closing`),
  })
  const connection = new SessionConnection({
    newClient: clientsFor(place),
    clock: systemClock,
    random: () => 0.5,
    users: [user('a'), user('b')],
    onError: (error) => void errors.push(error),
    onPooler: () => void happened.push('pooler'),
    ...options,
  })
  opened.push(connection)
  return { connection, happened, errors }
}

async function backendOf(connection: SessionConnection): Promise<number> {
  const [row] = await connection.query<{ pid: number }>('select pg_backend_pid() as pid')
  return row?.pid ?? 0
}

async function untilOpenAgain({ connection }: Noted): Promise<void> {
  await vi.waitFor(() => expect([connection.state, connection.reconnects]).toEqual(['open', 1]), { timeout: 20_000 })
}

describe('the direct connection of a process', () => {
  it('S173: is opened again when the server has ended it, and its users are informed', async () => {
    const noted = connectTo(placeOf(database.url))
    const { connection, happened, errors } = noted
    expect(await connection.open()).toBe('open')
    await ask(placeOf(database.url), 'select pg_terminate_backend($1)', [await backendOf(connection)])
    await untilOpenAgain(noted)
    expect(happened).toEqual(['a opened', 'b opened', 'b lost', 'a lost', 'a opened', 'b opened'])
    expect(errors.map(({ code, message }) => ({ code, message }))).toEqual([
      { code: 'store-unavailable', message: 'The direct connection to Postgres was lost; it is opened again (57P01).' },
    ])
    expect(await connection.query('select 2 as two')).toEqual([{ two: 2 }])
  })

  it('S173: a restart of the server is reported once, and ends nothing', async () => {
    const server = await startPostgres()
    try {
      const noted = connectTo(placeOf(server.url))
      await noted.connection.open()
      const waiting = noted.connection.query('select pg_sleep(600)')
      const [result] = await Promise.all([waiting.catch((error: unknown) => error), server.restart()])
      expect(result).toMatchObject({ code: 'store-unavailable' })
      await untilOpenAgain(noted)
      expect(noted.errors).toHaveLength(1)
    } finally {
      for (const connection of opened.splice(0)) await connection.close()
      await server.stop()
    }
  })

  it('S173: a server that is unreachable at first is tried again, each time after a longer wait, with jitter', async () => {
    const clock = manualClock()
    const waits: number[] = []
    const spied = {
      now: () => clock.now(),
      setTimer: (atMs: number, run: () => void) => (waits.push(atMs - clock.now()), clock.setTimer(atMs, run)),
    }
    const { connection, errors } = connectTo({ ...placeOf(database.url), host: '127.0.0.1', port: 1 }, { clock: spied, random: () => 0 })
    expect(await connection.open()).toBe('down')
    for (let tries = 2; tries <= 6; tries++) {
      await clock.advance(1000)
      await expect.poll(() => waits).toHaveLength(tries)
    }
    expect(waits).toEqual([50, 100, 200, 400, 500, 500])
    expect(errors.map(({ message }) => message)).toEqual([
      'The direct connection to Postgres cannot be opened; it is tried again (ECONNREFUSED).',
    ])
    await expect(connection.query('select 1')).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('S173: a server that no longer answers is given up after the time for a check, and not before', async () => {
    const clock = manualClock()
    const proxy = await startProxy(placeOf(database.url))
    const noted = connectTo(proxy.place, { clock, checkMs: 5000, answerMs: 4000 })
    await noted.connection.open()
    await clock.advance(4999)
    proxy.silence()
    await clock.advance(1)
    await clock.advance(3999)
    expect(noted.connection.state).toBe('open')
    await clock.advance(1)
    await expect.poll(() => noted.connection.state).toBe('down')
    expect(noted.errors[0]?.message).toContain('ETIMEDOUT')
  })

  it('S173: after an answered check the next one follows', async () => {
    const clock = manualClock()
    const { connection, errors } = connectTo(placeOf(database.url), { clock, checkMs: 5000, answerMs: 4000 })
    await connection.open()
    const backend = await backendOf(connection)
    for (let checks = 1; checks <= 3; checks++) {
      await clock.advance(5000)
      await connection.query('select 1')
      expect(clock.pendingTimers).toBe(1)
    }
    expect([await backendOf(connection), errors]).toEqual([backend, []])
  })

  it('S173: its errors name neither the user nor the server', async () => {
    const { connection, errors } = connectTo({ ...placeOf(database.url), database: 'secret_name' })
    expect(await connection.open()).toBe('down')
    expect(errors.map(({ message }) => message)).toEqual([
      'The direct connection to Postgres cannot be opened; it is tried again: The database does not exist: create it, or name another one.',
    ])
    expect(JSON.stringify(errors[0]?.cause, Object.getOwnPropertyNames(errors[0]?.cause))).not.toContain('secret_name')
  })

  it('S193: is closed after its users have finished, and leaves nothing on the server', async () => {
    const { connection, happened, errors } = connectTo(placeOf(database.url))
    await connection.open()
    const backend = await backendOf(connection)
    await connection.close()
    expect(happened).toEqual(['a opened', 'b opened', 'b closing', 'a closing', 'b lost', 'a lost'])
    await expect.poll(() => ask(placeOf(database.url), 'select from pg_stat_activity where pid = $1', [backend])).toEqual([])
    expect([connection.state, errors]).toEqual(['closed', []])
  })

  it('S193: is closed in time even while it cannot be opened', async () => {
    const proxy = await startProxy(placeOf(database.url))
    const noted = connectTo(proxy.place, {
      users: [{ opened: () => Promise.resolve(proxy.silence()) }, { opened: async (session) => void (await session.query('select 1')) }],
    })
    const opening = noted.connection.open()
    await expect.poll(() => noted.connection.state).toBe('opening')
    await noted.connection.close()
    await opening
    expect(noted.connection.state).toBe('closed')
  })

  it('S173: if a user rejects it, the connection is closed and opened again', async () => {
    let tries = 0
    const user: SessionUser = {
      opened: () => (++tries === 1 ? Promise.reject(new SessionError('store-unavailable', 'not yet')) : Promise.resolve()),
    }
    const { connection, errors } = connectTo(placeOf(database.url), { users: [user] })
    expect(await connection.open()).toBe('down')
    await vi.waitFor(() => expect(connection.state).toBe('open'), { timeout: 5000 })
    expect([tries, errors.length]).toEqual([2, 1])
  })

  it('S173: its server session has no time limits of the database, and commits without waiting for the disk', async () => {
    const name = new URL(database.url.replace(/@[^/]*/, '@host')).pathname.slice(1)
    await ask(placeOf(database.url), `alter database ${name} set statement_timeout = '1s'`)
    const { connection } = connectTo(placeOf(database.url))
    await connection.open()
    const shown = ['statement_timeout', 'lock_timeout', 'idle_session_timeout', 'synchronous_commit'].map(
      async (setting) => (await connection.query(`show ${setting}`))[0],
    )
    expect(await Promise.all(shown)).toEqual([
      { statement_timeout: '0' },
      { lock_timeout: '0' },
      { idle_session_timeout: '0' },
      { synchronous_commit: 'off' },
    ])
    await ask(placeOf(database.url), `alter database ${name} reset statement_timeout`)
  })
})
