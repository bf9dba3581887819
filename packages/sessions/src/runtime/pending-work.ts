import { isAtRest, openRuns } from '../commands/views.ts'
import { firstInLine, openWords } from '../contract/run-status.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import type { DrainReport } from './types.ts'

/**
 * Counts sessions whose next run can progress without an answer from outside. The next due time is `nextAt`, or the end of a
 * lease if that is earlier.
 */
export async function pendingWork(
  store: SessionStore,
  now: number,
  nextAt: number | null,
): Promise<Pick<DrainReport, 'left' | 'nextDueAt'>> {
  const times = nextAt === null ? [] : [nextAt]
  let [left, page]: [number, string | undefined] = [0, undefined]
  do {
    const busy = await store.listSessions({ status: openWords, expired: false, limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const { key } of busy.items) {
      const first = firstInLine(await openRuns(store, key))
      if (!first || (await isAtRest(store, first))) continue
      left += 1
      if (first.leaseUntil !== undefined && first.leaseUntil > now) times.push(first.leaseUntil)
    }
    page = busy.next
  } while (page !== undefined)
  return { left, nextDueAt: times.length > 0 ? Math.min(...times) : null }
}

/** Returns true if one of these sessions has a run that can be claimed. */
export async function hasWork(store: SessionStore, keys: readonly string[], now: number): Promise<boolean> {
  const first = await Promise.all(keys.map(async (key) => firstInLine(await openRuns(store, key))))
  return first.some((run) => run !== undefined && isClaimable(run, now))
}

function isClaimable({ status, notBefore = 0 }: RunRecord, now: number): boolean {
  return status === 'queued' && notBefore <= now
}
