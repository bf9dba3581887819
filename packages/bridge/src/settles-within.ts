import type { Clock } from '@bowline/llm'

/** Returns true if the promise settled in time, fulfilled or rejected. Cancels its timer. */
export async function settlesWithin(clock: Clock, leftMs: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const cancelTimer = clock.setTimer(clock.now() + Math.max(0, leftMs), () => resolve(false), { hold: true })
  const settled = work.then(
    () => true,
    () => true,
  )
  return Promise.race([settled, late]).finally(cancelTimer)
}
