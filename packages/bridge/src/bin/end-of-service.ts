const exitSecondInterrupt = 130

/** Aborted when somebody asks the process to end. Asked twice it exits at once. */
export function endOfService(): AbortController {
  const over = new AbortController()
  let asked = false
  const onSignal = (): void => {
    if (asked) process.exit(exitSecondInterrupt)
    asked = true
    over.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  return over
}

/**
 * Calls `stop` within the tick in which the service ends: what still runs must hear that the bridge stops before it hears
 * that its client is gone, since only the latter is a cancel.
 */
export function atEnd(over: AbortSignal, stop: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => void stop().then(resolve, reject)
    if (over.aborted) end()
    else over.addEventListener('abort', end, { once: true })
  })
}
