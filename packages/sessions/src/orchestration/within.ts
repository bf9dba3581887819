import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'

/** Rejects with `store-unavailable` when there is no answer in time; what comes then is dropped. */
export function within<T>(clock: Clock, timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new SessionError('store-unavailable', `The state store has not answered within ${timeoutMs} ms.`))
    const cancelTimer = clock.setTimer(clock.now() + timeoutMs, giveUp, { hold: true })
    work.then(resolve, reject).finally(cancelTimer)
  })
}
