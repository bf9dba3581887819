import type { Clock } from '@bowline/llm'
import { LostAnswer } from './script-server.ts'

/** Rejects with `LostAnswer` if `work` has not settled by `atMs`; a later result is ignored. Keeps the process alive meanwhile. */
export function answeredUntil<T>(clock: Clock, atMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancelTimer = clock.setTimer(atMs, () => reject(new LostAnswer('There was no answer in time.')), { hold: true })
    work.then(resolve, reject).finally(cancelTimer)
  })
}

/** Waits until `atMs`. Keeps the process alive meanwhile. */
export function waitUntil(clock: Clock, atMs: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(atMs, resolve, { hold: true }))
}
