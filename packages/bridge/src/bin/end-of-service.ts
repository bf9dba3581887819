const exitSecondInterrupt = 130

/** Aborted on the first SIGINT or SIGTERM. The second signal exits the process at once. */
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
 * Calls `stop` in the same tick in which `over` is aborted. Running calls must see that the bridge stops before they see that their
 * client is gone, because a lost client cancels them.
 */
export function atEnd(over: AbortSignal, stop: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => void stop().then(resolve, reject)
    if (over.aborted) end()
    else over.addEventListener('abort', end, { once: true })
  })
}
