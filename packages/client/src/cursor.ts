/** Where a cursor stands in the log. Users hand cursors back as they are; only this package looks into them. */
export interface LogPosition {
  readonly seq: number
  /** Deltas since the run's last durable event; 0 right after a durable event. */
  readonly delta: number
}

const form = /^(\d{1,15})(?:\.(\d{1,15}))?$/

/** Undefined for a cursor of a form that this version does not know. */
export function positionOf(cursor: string): LogPosition | undefined {
  const match = form.exec(cursor)
  return match ? { seq: Number(match[1]), delta: Number(match[2] ?? 0) } : undefined
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  return a.seq > b.seq || (a.seq === b.seq && a.delta > b.delta)
}
