import type { Clock } from '@bowline/llm'

export interface Deadline {
  readonly clock: Clock
  readonly limitMs: number
  /** Aborted when the work is not needed any more. */
  readonly abortSignal?: AbortSignal | undefined
}

/** Settles as the work does, or rejects when it has taken too long or is not needed any more: what comes later is dropped. */
export function withinTime<Result>({ clock, limitMs, abortSignal }: Deadline, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)), { hold: true })
    const giveUp = (): void => {
      cancel()
      reject(new Error('nobody waits for it'))
    }
    abortSignal?.addEventListener('abort', giveUp, { once: true })
    void work.then(resolve, reject).finally(() => {
      cancel()
      abortSignal?.removeEventListener('abort', giveUp)
    })
  })
}
