import type { Clock } from '@bowline/llm'

/** Resolves at the time, or at once when the signal is aborted. */
export function waitUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || clock.now() >= atMs) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(atMs, end, { hold: true })
    signal.addEventListener('abort', end, { once: true })
  })
}
