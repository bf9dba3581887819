import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import type { LiveLog } from '../log/live-log.ts'
import { pollMs } from '../log/read-pace.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import { asLogged, isResting, isTerminal, openStatuses } from '../contract/run-status.ts'

interface Waiting {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
}

export async function readRun(store: SessionStore, runId: string): Promise<RunRecord> {
  const read = await store.readRun(runId)
  if (read.status === 'missing') throw unknownRun(runId)
  return read.value
}

export function unknownRun(runId: string): SessionError {
  return new SessionError('unknown-run', `This session has no run ${runId}. Take the id from runs().`)
}

/** Resolves with the run when it waits for outside help or has ended, or in its present state when the signal is aborted. */
export async function waitForRest(
  context: Waiting,
  key: string,
  runId: string,
  signal?: AbortSignal,
  isOver: (run: RunRecord) => boolean | Promise<boolean> = isResting,
): Promise<RunRecord> {
  for (;;) {
    const changed = nextChange(context, key, signal)
    try {
      const run = await readRun(context.store, runId)
      if ((await isOver(run)) || signal?.aborted) return run
      await changed.promise
    } finally {
      changed.cancel()
    }
  }
}

/** Resolves with the run when it is at rest, or in its present state after `waitMs`. */
export async function restWithin(
  context: Waiting,
  run: RunRecord,
  waitMs: number,
  abortSignal?: AbortSignal,
  isOver?: (run: RunRecord) => boolean,
): Promise<RunRecord> {
  if (waitMs <= 0) return readRun(context.store, run.id)
  const waiting = new AbortController()
  const cancelTimer = context.clock.setTimer(context.clock.now() + waitMs, () => waiting.abort(), { hold: true })
  const signal = abortSignal ? AbortSignal.any([waiting.signal, abortSignal]) : waiting.signal
  try {
    return await waitForRest(context, run.session, run.id, signal, isOver)
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
export async function isFreeBy(context: Waiting, key: string, untilMs: number, besides?: RunRecord['kind']): Promise<boolean> {
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

/** Subscribes at once, so that a commit between reading and waiting is not missed. */
function nextChange(
  { live, clock }: Pick<Waiting, 'live' | 'clock'>,
  key: string,
  signal?: AbortSignal,
): { readonly promise: Promise<void>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => resolve()
  const letGo = live.hold(key, done)
  const cancelTimer = clock.setTimer(clock.now() + pollMs, done, { hold: true })
  signal?.addEventListener('abort', done)
  return {
    promise,
    cancel() {
      letGo()
      cancelTimer()
      signal?.removeEventListener('abort', done)
    },
  }
}
