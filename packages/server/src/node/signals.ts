const signals = ['SIGTERM', 'SIGINT'] as const
const interrupted = 130

/** Closes on the first signal and exits with 0. A second signal exits at once: runs then recover as after a crash. */
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
