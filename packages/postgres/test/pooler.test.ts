import { systemClock } from '@bowline/llm'
import { afterEach, describe, expect, it } from 'vitest'
import { isPgBouncerMissing, pgBouncers, testDatabase, titleWithPgBouncer } from '../../../scripts/postgres.ts'
import { PgSession } from '../src/store/pg-session.ts'
import { isPooledByTransaction } from '../src/store/pooler.ts'
import { SessionConnection } from '../src/store/session-connection.ts'
import { ask, clientsFor, placeOf } from './clients.ts'

const database = testDatabase()
const startPooler = pgBouncers()
const opened: PgSession[] = []

afterEach(async () => {
  for (const session of opened.splice(0)) await session.end()
})

async function isPooled(url: string): Promise<boolean> {
  const newSession = (): PgSession =>
    new PgSession({ newClient: clientsFor(placeOf(url)), clock: systemClock, answerMs: 5000, checkMs: 5000 })
  const session = newSession()
  await session.connect()
  opened.push(session)
  return isPooledByTransaction(session, newSession)
}

const otherSettings = [{ server_round_robin: '1' }, { default_pool_size: '1' }, { default_pool_size: '2', min_pool_size: '2' }]

describe('a pooler', () => {
  it('S173: is not reported if there is none', async () => {
    expect(await isPooled(database.url)).toBe(false)
  })
})

describe.skipIf(isPgBouncerMissing)(titleWithPgBouncer('PgBouncer'), () => {
  it('S173, S189: is detected in transaction mode', async () => {
    expect(await isPooled(await startPooler(database.url, 'transaction'))).toBe(true)
  })

  it.each(otherSettings)('S173, S189: is detected in transaction mode with %j', async (settings) => {
    expect(await isPooled(await startPooler(database.url, 'transaction', settings))).toBe(true)
  })

  it('S173, S189: is detected in transaction mode while other clients use it', async () => {
    const url = await startPooler(database.url, 'transaction', { default_pool_size: '4' })
    let isBusy = true
    const busy = Array.from({ length: 3 }, async () => {
      while (isBusy) await ask(placeOf(url), 'select count(*) from pg_class')
    })
    try {
      for (let tries = 0; tries < 20; tries++) expect(await isPooled(url)).toBe(true)
    } finally {
      isBusy = false
      await Promise.all(busy)
    }
  })

  it('S173, S189: is detected in statement mode', async () => {
    expect(await isPooled(await startPooler(database.url, 'statement'))).toBe(true)
  })

  it('S173, S189: keeps its server sessions in session mode', async () => {
    expect(await isPooled(await startPooler(database.url, 'session'))).toBe(false)
  })

  it('S189: in transaction mode closes the direct connection with one warning, and leaves neither locks nor settings', async () => {
    const url = await startPooler(database.url, 'transaction', { default_pool_size: '1' })
    const happened: string[] = []
    const connection = new SessionConnection({
      newClient: clientsFor(placeOf(url)),
      clock: systemClock,
      random: () => 0.5,
      users: [{ opened: () => Promise.resolve(void happened.push('opened')) }],
      onError: (error) => void happened.push(error.message),
      onPooler: () => void happened.push('pooler'),
    })
    expect(await connection.open()).toBe('pooled')
    expect([happened, connection.state]).toEqual([['pooler'], 'pooled'])
    await expect(connection.query('select 1')).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(
      await ask(
        placeOf(url),
        "select current_setting('synchronous_commit') as kept, count(*) filter (where locktype = 'advisory')::int as locks from pg_locks where database = (select oid from pg_database where datname = current_database())",
      ),
    ).toEqual([{ kept: 'on', locks: 0 }])
    await connection.close()
    expect(connection.state).toBe('closed')
  })
})
