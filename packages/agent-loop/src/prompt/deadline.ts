import type { Clock } from '@bowline/llm'

/** Settles as the work does, or rejects when it has taken too long: what comes later is dropped. */
export function withinTime<Result>(clock: Clock, limitMs: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)))
    void work.then(resolve, reject).finally(cancel)
  })
}
