import type { Clock } from '@bowline/llm'

/** Speed of the demo: 1 is the pace for people, 0 has no delays. */
export interface Pace {
  /** Resolves after `delayMs` at speed 1. Must reject with the reason of the signal as soon as it aborts. */
  wait(delayMs: number, abortSignal?: AbortSignal): Promise<void>
}

export function createPace(speed: number, clock: Clock): Pace {
  return {
    async wait(delayMs, abortSignal) {
      abortSignal?.throwIfAborted()
      const paced = delayMs * speed
      if (paced > 0) await waitUntil(clock, clock.now() + paced, abortSignal)
    },
  }
}

/** Reads `DEMO_SPEED`, a factor on every delay of the demo. Returns 1 if it is not a number from 0. */
export function speedFrom(env: Readonly<Record<string, string | undefined>>): number {
  const speed = Number(env.DEMO_SPEED ?? '')
  return env.DEMO_SPEED?.trim() && Number.isFinite(speed) && speed >= 0 ? speed : 1
}

function waitUntil(clock: Clock, atMs: number, abortSignal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(atMs, () => {
      abortSignal?.removeEventListener('abort', abort)
      resolve()
    })
    const abort = (): void => {
      cancel()
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is the caller's own
      reject(abortSignal?.reason)
    }
    abortSignal?.addEventListener('abort', abort, { once: true })
  })
}
