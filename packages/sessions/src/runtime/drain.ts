import type { Clock } from '@bowline/llm'
import type { ClaimLoop } from './claim-loop.ts'
import type { DrainOptions, DrainReport } from './types.ts'

/** Executes what can be claimed until nothing is left, or the time is over: then runs leave at their next boundary. */
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
  // Without an end it holds the process all the same.
  const cancel = clock.setTimer(untilMs ?? Infinity, () => time.abort(), { hold: true })
  let left = maxRuns
  try {
    while (!over.aborted) {
      // Asked for before the look, so that nothing between the two is missed.
      const { news } = loop
      left -= await loop.claimUpTo(left)
      if (loop.size > 0) await Promise.race([isOver, news])
      // What was stored behind the last runs may be work too.
      else if (!(await loop.settled())) break
    }
    if (over.aborted) await loop.yieldAll()
  } finally {
    cancel()
  }
  const { settled, rested, 'gave-back': gaveBack } = loop.counts
  return { ran: settled + rested - before.settled - before.rested, yielded: gaveBack - before['gave-back'] }
}

/** `signal`: the time that the host gives is over, or it wants its time back. */
export async function withTimeLimit<T>(clock: Clock, { untilMs, abortSignal }: DrainOptions, work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
  if (untilMs === undefined) return work(abortSignal)
  const time = new AbortController()
  const cancel = clock.setTimer(untilMs, () => time.abort(), { hold: true })
  try {
    return await work(abortSignal ? AbortSignal.any([time.signal, abortSignal]) : time.signal)
  } finally {
    cancel()
  }
}
