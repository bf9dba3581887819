import type { Clock } from '@bowline/llm'
import type { ClaimLoop } from './claim-loop.ts'
import type { DrainOptions, DrainReport } from './types.ts'

/** Executes claimable runs until none is left or the time is over. Then runs yield at their next boundary. */
export async function drainLoop(loop: ClaimLoop, maxRuns: number, over: AbortSignal): Promise<Pick<DrainReport, 'ran' | 'yielded'>> {
  const before = loop.counts
  const isOver = aborted(over)
  let left = maxRuns
  while (!over.aborted) {
    // Read before the claim, so that no wake between the two is missed.
    const { news } = loop
    left -= await loop.claimUpTo(left)
    if (loop.size > 0) await Promise.race([isOver, news])
    // Follow-up work of the last runs may have created more runs.
    else if (!(await loop.settled())) break
  }
  if (over.aborted) await loop.yieldAll()
  const { settled, rested, 'gave-back': gaveBack } = loop.counts
  return { ran: settled + rested - before.settled - before.rested, yielded: gaveBack - before['gave-back'] }
}

/** Runs `work` with a signal that aborts at `untilMs` or when `abortSignal` does. Keeps the process alive, also without an end time. */
export async function withTimeLimit<T>(
  clock: Clock,
  { untilMs = Infinity, abortSignal }: Pick<DrainOptions, 'untilMs' | 'abortSignal'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const time = new AbortController()
  if (untilMs <= clock.now()) time.abort()
  const cancel = clock.setTimer(untilMs, () => time.abort(), { hold: true })
  try {
    return await work(abortSignal ? AbortSignal.any([time.signal, abortSignal]) : time.signal)
  } finally {
    cancel()
  }
}

/** Resolves when the signal aborts; never without one. */
export function aborted(signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal?.aborted) resolve()
  else signal?.addEventListener('abort', () => resolve(), { once: true })
  return promise
}
