import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import type { LiveLog } from '../log/live-log.ts'
import { pollMs } from '../log/read-pace.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import { asLogged, isResting, isTerminal, openStatuses } from '../contract/run-status.ts'

const maxRecordsMs = 10_000

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
 * Waits, at most 10 s, for a run that only stores records after the end of its turn. Returns false if the session is still busy
 * then, or another run is open.
 */
export async function isFreeSoon(context: Waiting, key: string): Promise<boolean> {
  const [open, other] = (await context.store.listRuns(key, { status: openStatuses, limit: 2 })).items
  if (!open) return true
  if (other || !isTerminal(asLogged(open).status)) return false
  return isResting(await restWithin(context, open, maxRecordsMs))
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
