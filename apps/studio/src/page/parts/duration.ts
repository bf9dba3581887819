/** `840 ms`, `2.4 s`, `3 min`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`
  if (durationMs < 60_000) return `${(durationMs / 1000).toFixed(1)} s`
  return `${Math.round(durationMs / 60_000)} min`
}

/** To make one takes longer than to draw what it is for. */
const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** `14:03:22` in the reader's own time. */
export function formatTime(at: number): string {
  return clockTime.format(at)
}
