import { storeError } from './postgres-errors.ts'
import type { Pool } from './pool.ts'
import type { LiveMetrics } from './live-connection.ts'
import type { ProcessScope } from './process-table.ts'

/** Result of one check of the database. Times are in ms, by the database clock. */
export interface PostgresReport {
  /** Number of processes in the namespace of this store that hold a lock. */
  readonly processes: number
  /** Number of runs that can be claimed now, at most 10,000. */
  readonly waiting: number
  /** Time since which the oldest of them can be claimed, in ms. Absent if none waits. */
  readonly oldestWaitMs?: number
  /** Age in ms of the oldest snapshot of any transaction on this server. Absent if there is none or this user may not see it. */
  readonly oldestSnapshotMs?: number
  readonly warnings: readonly PostgresWarning[]
}

/** A condition of the database that an operator should fix, with a code for alerts. */
export interface PostgresWarning {
  readonly code: 'old-snapshot' | 'nobody-claims' | 'work-waits' | 'no-direct-connection'
  /** Problem and remedy. */
  readonly message: string
}

const mostCounted = 10_000
const longestWaitMs = 60_000
const longestSnapshotMs = 60_000

export interface Found {
  readonly processes: number
  readonly waiting: number
  readonly oldest: number | null
  readonly snapshot: number | null
}

/** Query for the check. Only sessions whose first open run is queued are in this index. */
function question(schema: string): string {
  return `with claimable as (
  select start_at as since from "${schema}".session
  where namespace = $1 and start_at is not null and key is not null and namespace <> '#session_start'
    and (not_before is null or not_before <= floor(extract(epoch from statement_timestamp()) * 1000))
  order by start_at, key limit ${mostCounted}
)
select (select count(*) from "${schema}".process where namespace = $1)::int as processes, count(*)::int as waiting,
  (extract(epoch from statement_timestamp()) * 1000 - min(since))::float8 as oldest,
  (select max(extract(epoch from statement_timestamp() - xact_start) * 1000) from pg_stat_activity where backend_xmin is not null)::float8 as snapshot
from claimable`
}

/** Queries the server once. `metrics` belong to this process. */
export async function checkDatabase(pool: Pool, { schema, namespace }: ProcessScope, metrics: LiveMetrics): Promise<PostgresReport> {
  const client = await pool.acquire()
  let found: Found
  try {
    ;[found] = (await client.query({ text: question(schema), values: [namespace] })).rows as [Found]
  } catch (error) {
    client.release(true)
    throw storeError(error, 'look at the database')
  }
  client.release()
  const { processes, waiting, oldest, snapshot } = found
  return {
    processes,
    waiting,
    ...(oldest !== null && { oldestWaitMs: Math.max(0, Math.round(oldest)) }),
    ...(snapshot !== null && { oldestSnapshotMs: Math.max(0, Math.round(snapshot)) }),
    warnings: [...warningsOf(found), ...(['down', 'pooled'].includes(metrics.direct) ? [noDirectConnection] : [])],
  }
}

/** Returns the warnings for the result of the query. */
export function warningsOf({ processes, waiting, oldest, snapshot }: Found): readonly PostgresWarning[] {
  const warnings: PostgresWarning[] = []
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`
  if (waiting > 0 && processes === 0) {
    const message = `No listening process claims the pending runs (${waiting}): start one, or call drain() from a short-lived host.`
    warnings.push({ code: 'nobody-claims', message })
  }
  if (oldest !== null && oldest > longestWaitMs) {
    const message = `A run has waited for ${seconds(oldest)}: start more processes, raise concurrency, or look for agents that no process has.`
    warnings.push({ code: 'work-waits', message })
  }
  if (snapshot !== null && snapshot > longestSnapshotMs) {
    const message = `A transaction has held a snapshot for ${seconds(snapshot)}: until it ends, dead rows stay and everything slows down. Look for backend_xmin in pg_stat_activity.`
    warnings.push({ code: 'old-snapshot', message })
  }
  return warnings
}

const noDirectConnection: PostgresWarning = {
  code: 'no-direct-connection',
  message:
    'This process has no direct connection: it looks for work each second, and its death is noticed when its leases end. Set directConnectionString to the server.',
}
