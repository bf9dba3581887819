import { createHash } from 'node:crypto'
import type { Queries } from './pg-session.ts'

/** Processes that work on the same sessions. Other users of the database share its locks and channels. */
export interface ProcessScope {
  readonly schema: string
  readonly namespace: string
}

/** Returns the channel of these processes' hints, in at most 63 bytes. */
export function channelOf(scope: ProcessScope): string {
  return `bowline_${hashIn(scope, 'hints').toString('hex', 0, 16)}`
}

/** Hashes the parts, each with its length, so that different lists of parts never give the same text. */
function hashIn({ schema, namespace }: ProcessScope, ...parts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const part of [schema, namespace, ...parts]) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest()
}

/** Wait in ms for the lock of the next process before the ring is read again. */
export const lockWaitMs = 1000

/**
 * Returns the statements of the migration that adds the table of processes to a schema. Leases belong to an owner; a process gets a
 * new name each time it takes a new lock.
 *
 * The table holds the processes that hold a lock, or have died and are not taken over yet. A waiting statement keeps a snapshot,
 * which prevents vacuum from removing newer dead rows of all tables. So the function waits only briefly, and returns false instead
 * of raising an error, which the server would log.
 */
export function createProcessTable(schema: string): readonly string[] {
  const { table, lockFunction } = namesIn(schema)
  return [
    `create table ${table} (
  namespace text not null,
  name text not null,
  owner text not null,
  lock_key bigint not null unique,
  started_at bigint not null,
  primary key (namespace, name)
)`,
    `create function ${lockFunction}(lock_key bigint, at_most_ms integer) returns boolean language plpgsql as $$
begin
  perform set_config('lock_timeout', at_most_ms::text, true);
  perform pg_advisory_lock(lock_key);
  return true;
exception when lock_not_available or query_canceled then
  -- The lock may have been given in the same moment.
  perform pg_advisory_unlock_all();
  return false;
end $$`,
  ]
}

/**
 * Returns the statement that refuses a claim if the process was taken over. A takeover waits until the claim is stored.
 */
export function keepProcess(schema: string): string {
  const { table } = namesIn(schema)
  return `with found as (select from ${table} where namespace = $1 and name = $2 for key share)
select case when not exists (select from found) then ${quoted(schema)}.refuse() end`
}

/**
 * Takes over a dead process: removes its row and ends its leases. Resolves with the keys of the sessions that can be claimed now.
 * Undefined: the process has left, or another one took it over first.
 */
export async function takeOver(
  session: Queries,
  { schema, namespace }: ProcessScope,
  name: string,
): Promise<readonly string[] | undefined> {
  const { table } = namesIn(schema)
  await session.query('begin')
  try {
    // Waits for claims in progress, so that the statement below sees their leases.
    const [dead] = await session.query<{ readonly owner: string }>(
      `delete from ${table} where namespace = $1 and name = $2 returning owner`,
      [namespace, name],
    )
    const runs = dead && (await session.query<{ readonly key: string }>(endLeases(schema), [namespace, dead.owner]))
    await session.query('commit')
    return runs?.map(({ key }) => key)
  } catch (error) {
    // Ignored: without a connection there is nothing to roll back, and the first failure tells more.
    await session.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Ends all leases of an owner, unless it is registered under another name. */
function endLeases(schema: string): string {
  const within = quoted(schema)
  return `with lost as (
  select run from ${within}.lease where namespace = $1 and owner = $2
    and not exists (select from ${within}.process where namespace = $1 and owner = $2)
  order by run for no key update
)
update ${within}.lease set until = 0 from lost where lease.namespace = $1 and lease.run = lost.run returning lease.session as key`
}

function quoted(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`
}

export function namesIn(schema: string): { readonly table: string; readonly lockFunction: string } {
  const within = quoted(schema)
  return { table: `${within}.process`, lockFunction: `${within}.wait_for_process_lock` }
}

/**
 * Returns the key of an advisory lock: the first 64 bits of a hash. If another lock of the database has this key, the next
 * `attempt` gives another one.
 */
export function lockKeyOf(scope: ProcessScope, name: string, attempt: number): string {
  return hashIn(scope, 'process', name, String(attempt)).readBigInt64BE(0).toString()
}
