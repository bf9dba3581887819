import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Batch, SessionQuery, SessionStore, Write } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { withPostgres } from './postgres-server.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

/** Number of sessions that few filters match. */
const few = 10
const firstMs = 1_700_000_000_000

/** Lists to be timed, for this number of sessions. Each session is active a second after the one before. */
export function listsOf(size: number): Readonly<Record<string, SessionQuery>> {
  const late = `${firstMs + 200_000}:x`
  return {
    'first page': {},
    'late page': { page: late },
    'without a parent': { parent: null, expired: false },
    'of a large tenant': { keyPrefix: 'tenant:large:s:', parent: null },
    'of a large tenant, late page': { keyPrefix: 'tenant:large:s:', parent: null, page: late },
    [`of a tenant of ${few}`]: { keyPrefix: 'tenant:few:s:', parent: null },
    [`of a prefix of ${few}`]: { keyPrefix: `room:${size / few}` },
    'waiting for a person': { status: ['waiting-for-user'], expired: false },
    'of an agent': { agent: 'rare' },
    'that have expired': { expired: true },
  }
}

const isFew = (n: number, size: number): boolean => n % (size / few) === 0

function keyOf(n: number, size: number): string {
  if (isFew(n, size)) return `tenant:few:s:${n}`
  if (isFew(n + 1, size)) return `room:${size / few}:${n}`
  return `tenant:${n % 2 === 0 ? 'large' : `small-${n % 997}`}:s:${n}`
}

const hasExpired = (n: number, size: number): boolean => isFew(n + 2, size)

/** Opens a store of this kind with so many sessions. Times are those of the sessions. */
export type WithSessions = <T>(size: number, work: (store: SessionStore) => Promise<T>) => Promise<T>

export const storesWithSessions: Readonly<Record<string, WithSessions>> = {
  async memory(size, work) {
    let now = firstMs
    const store = memoryStore()
    await store.open({ namespace: 'default', owner: 'bench', clock: { now: () => now, setTimer: () => () => undefined } })
    for (let n = 1; n <= size; n += 1) {
      now = firstMs + n * 1000
      await addSession(store, n, size, now)
    }
    return work(store)
  },
  sqlite: (size, work) =>
    withTemporaryFolder(async (folder) => {
      const file = join(folder, 'bench.sqlite')
      const store = sqliteStore({ file })
      await openWithOne(store)
      const database = new DatabaseSync(file)
      database.exec(
        rowsOf(size, `with recursive numbers (n) as (select 2 union all select n + 1 from numbers where n < ${size})`, 'numbers'),
      )
      database.close()
      return closing(store, work)
    }),
  postgres: (size, work) =>
    withPostgres(async ({ url, query }) => {
      const store = postgresStore({ connectionString: url, listen: false })
      await openWithOne(store)
      await query('set search_path to bowline')
      await query(rowsOf(size, '', `generate_series(2, ${size}) as numbers (n)`))
      await query('vacuum analyze')
      return closing(store, work)
    }),
}

async function openWithOne(store: SessionStore): Promise<void> {
  await store.open({ namespace: 'default', owner: 'bench', clock: { now: () => firstMs, setTimer: () => () => undefined } })
  await commit(store, 'first', [ensure('first', 'assistant')])
}

async function closing<T>(store: SessionStore, work: (store: SessionStore) => Promise<T>): Promise<T> {
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Copies the row of the first session, because a commit for each would take minutes. */
function rowsOf(size: number, start: string, numbers: string): string {
  const isFewth = (n: string): string => `(${n}) % ${size / few} = 0`
  const tenant = `case when ${isFewth('n')} then 'few' when ${isFewth('n + 1')} then null when n % 2 = 0 then 'large' else 'small-' || (n % 997) end`
  const expired = `'"expiredAt":' || active_at || ',"createdAt"'`
  return `${start}
    insert into session (namespace, key, revision, section, active_at, agent, tenant, status, rare_status, body)
    select 'default', case when tenant is null then 'room:${size / few}:' || n else 'tenant:' || tenant || ':s:' || n end, 1,
      case when ${isFewth('n + 2')} then 2 else 0 end, active_at, case when ${isFewth('n')} then 'rare' else 'assistant' end, tenant,
      case when ${isFewth('n')} then 'waiting-for-user' else 'completed' end, case when ${isFewth('n')} then 'waiting-for-user' end,
      replace(case when ${isFewth('n + 2')} then replace(body, '"createdAt"', ${expired}) else body end, 'id-first', 'id-' || n)
    from (select n, ${tenant} as tenant, ${firstMs} + cast(n as bigint) * 1000 as active_at from ${numbers}) as copies
      cross join (select body from session where key = 'first') as first`
}

let batches = 0

async function commit(store: SessionStore, key: string, writes: readonly Write[], expect: Batch['expect'] = []): Promise<void> {
  const result = await store.commit({ id: `batch-${(batches += 1)}`, key, expect, writes })
  if (!result.ok) throw new Error(`The commit to ${key} was refused: ${result.reason}`)
}

function ensure(key: string, agent: string): Write {
  return { op: 'session.ensure', session: { id: `id-${key}`, agent, metadata: {}, at: firstMs } }
}

async function addSession(store: SessionStore, n: number, size: number, at: number): Promise<void> {
  const key = keyOf(n, size)
  if (!isFew(n, size))
    return commit(store, key, [ensure(key, 'assistant'), ...(hasExpired(n, size) ? [{ op: 'session.expire' } as const] : [])])
  const runId = `run-${n}`
  await commit(store, key, [
    ensure(key, 'rare'),
    { op: 'run.insert', run: { id: runId, kind: 'user', inputHash: 'hash', input: 'go', at } },
  ])
  const [claim] = await store.claim({ owner: 'bench', max: 1, leaseMs: 1000, agents: ['rare'], holds: [], runId })
  if (!claim) throw new Error(`The run ${runId} was not claimed`)
  await commit(
    store,
    key,
    [{ op: 'run.patch', runId, patch: { status: 'awaiting-approval' } }],
    [{ that: 'fence', runId, epoch: claim.run.epoch }],
  )
}
