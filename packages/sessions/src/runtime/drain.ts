import type { Clock } from '@bowline/llm'
import type { ClaimLoop } from './claim-loop.ts'
import type { DrainOptions, DrainReport } from './types.ts'

/** Executes claimable runs until none is left or the time is over. Then runs yield at their next boundary. */
export async function drainLoop(
  loop: ClaimLoop,
  clock: Clock,
  { untilMs, maxRuns = Infinity, abortSignal }: DrainOptions,
): Promise<Pick<DrainReport, 'ran' | 'yielded'>> {
  const before = loop.counts
  const time = new AbortController()
  const over = abortSignal ? AbortSignal.any([time.signal, abortSignal]) : time.signal
  const isOver = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve()))
  if (untilMs !== undefined && untilMs <= clock.now()) time.abort()
  // The timer keeps the process alive, even without an end time.
  const cancel = clock.setTimer(untilMs ?? Infinity, () => time.abort(), { hold: true })
  let left = maxRuns
  try {
    while (!over.aborted) {
      // Read before the claim, so that no wake between the two is missed.
      const { news } = loop
      left -= await loop.claimUpTo(left)
      if (loop.size > 0) await Promise.race([isOver, news])
      // Follow-up work of the last runs may have created more runs.
      else if (!(await loop.settled())) break
    }
    if (over.aborted) await loop.yieldAll()
  } finally {
    cancel()
  }
  const { settled, rested, 'gave-back': gaveBack } = loop.counts
  return { ran: settled + rested - before.settled - before.rested, yielded: gaveBack - before['gave-back'] }
}

/** Runs `work` with a signal that aborts at `untilMs` or when `abortSignal` does. */
export async function withTimeLimit<T>(
  clock: Clock,
  { untilMs, abortSignal }: DrainOptions,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (untilMs === undefined) return work(abortSignal)
  const time = new AbortController()
  const cancel = clock.setTimer(untilMs, () => time.abort(), { hold: true })
  try {
    return await work(abortSignal ? AbortSignal.any([time.signal, abortSignal]) : time.signal)
  } finally {
    cancel()
  }
}
