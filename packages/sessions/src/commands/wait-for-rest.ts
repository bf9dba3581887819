import type { RunRecord } from '../contract/records.ts'
import { asLogged, isResting, isTerminal, openStatuses } from '../contract/run-status.ts'
import { SessionError } from '../errors.ts'
import { readRun, restWatch, type IsOver, type WatchContext } from './rest-watch.ts'

/** Resolves with the run when `isOver` returns true for it, by default when it waits for outside help or has ended. */
export function waitForRest(
  context: WatchContext,
  key: string,
  runId: string,
  isOver: IsOver = isResting,
  signal?: AbortSignal,
): Promise<RunRecord> {
  return restWatch(context, key).wait(runId, isOver, signal)
}

/** Resolves with the run when it is at rest, or in its present state after `waitMs`. */
export async function restWithin(
  context: WatchContext,
  run: Pick<RunRecord, 'id' | 'session'>,
  waitMs: number,
  abortSignal?: AbortSignal,
  isOver: IsOver = isResting,
): Promise<RunRecord> {
  if (waitMs <= 0) return readRun(context.store, run.id)
  const waiting = new AbortController()
  const cancelTimer = context.clock.setTimer(context.clock.now() + waitMs, () => waiting.abort(), { hold: true })
  const signal = abortSignal ? AbortSignal.any([waiting.signal, abortSignal]) : waiting.signal
  try {
    return await waitForRest(context, run.session, run.id, isOver, signal)
  } finally {
    cancelTimer()
  }
}

/**
 * Returns how long a command waits for a run that only stores records after the end of its turn, in ms. If its process dies, another
 * one takes over once the lease has ended.
 */
export function longestRecordsMs(leaseMs: number): number {
  return leaseMs + 10_000
}

/**
 * Waits for a run that only stores records after the end of its turn, at most until `untilMs`. Returns false if it is still open
 * then, or if another run is open. `besides`: runs of this kind do not matter.
 */
export async function isFreeBy(context: WatchContext, key: string, untilMs: number, besides?: RunRecord['kind']): Promise<boolean> {
  const { items } = await context.store.listRuns(key, { status: openStatuses, limit: 3 })
  const [open, other] = items.filter(({ kind }) => kind !== besides)
  if (!open) return true
  if (other || !isTerminal(asLogged(open).status)) return false
  try {
    return isResting(await restWithin(context, open, untilMs - context.clock.now()))
  } catch (error) {
    // The session was deleted: it is read again.
    if (SessionError.isInstance(error) && error.code === 'unknown-run') return true
    throw error
  }
}
