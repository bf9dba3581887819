import type { Clock } from '@bowline/llm'

/**
 * Resolves at the time, or at once when the signal is aborted. The timers of a clock let a process end; whoever waits
 * for a run must not find it ended in the middle of a wait, so this one holds it.
 */
export function waitUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || clock.now() >= atMs) return Promise.resolve()
  return new Promise((resolve) => {
    const release = holdProcess()
    const end = (): void => {
      release()
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(atMs, end)
    signal.addEventListener('abort', end, { once: true })
  })
}

const longestIntervalMs = 2 ** 31 - 1

function holdProcess(): () => void {
  const held = setInterval(() => undefined, longestIntervalMs)
  return () => clearInterval(held)
}
