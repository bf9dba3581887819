const signals = ['SIGTERM', 'SIGINT'] as const
const interrupted = 130

/** The first signal closes and ends the process with 0, the second one ends it at once: runs survive as after a crash. */
export function closeOnSignals(close: () => Promise<void>): void {
  let closing = false
  const onSignal = (): void => {
    if (closing) process.exit(interrupted)
    closing = true
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`bowline: closing failed: ${error instanceof Error ? error.name : typeof error}\n`)
        process.exit(1)
      },
    )
  }
  for (const signal of signals) process.on(signal, onSignal)
}
