/** Formats a duration as `840 ms`, `2.4 s` or `3 min`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`
  if (durationMs < 60_000) return `${(durationMs / 1000).toFixed(1)} s`
  return `${Math.round(durationMs / 60_000)} min`
}

/** Shared, because creating a formatter takes longer than rendering. */
const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** Formats a time as `14:03:22` in the time zone of the user. */
export function formatTime(at: number): string {
  return clockTime.format(at)
}
