import { hashIn } from './scope.ts'
import type { ProcessScope } from './scope.ts'

/** How long a process waits for the lock of another one before it looks again which one that is. */
export const lockWaitMs = 1000

/**
 * Returns the statements of the migration that adds what liveness needs to a schema.
 *
 * The table holds the processes that hold a lock, or have died and are not taken over yet. A statement that waits keeps a
 * snapshot, and no row that became garbage since can be removed from any table: so the function waits for a short time,
 * and gives up without an error, which the server would log.
 */
export function createProcessTable(schema: string): readonly string[] {
  const { table, lockFunction } = namesIn(schema)
  return [
    `create table ${table} (
  namespace text not null,
  owner text not null,
  lock_key bigint not null unique,
  started_at bigint not null,
  primary key (namespace, owner)
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

export function namesIn(schema: string): { readonly table: string; readonly lockFunction: string } {
  const within = `"${schema.replaceAll('"', '""')}"`
  return { table: `${within}.process`, lockFunction: `${within}.wait_for_process_lock` }
}

/**
 * Returns the key of an advisory lock: 64 bits, as many as there are, of a hash. If another lock of the database has this key,
 * the next `attempt` gives another one.
 */
export function lockKeyOf(scope: ProcessScope, owner: string, attempt: number): string {
  return hashIn(scope, 'process', owner, String(attempt)).readBigInt64BE(0).toString()
}
