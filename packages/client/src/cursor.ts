/** Log position of a cursor. Users return cursors unchanged; only this package reads them. */
export interface LogPosition {
  readonly seq: number
  /** Number of deltas since the last durable event of the run. 0 right after a durable event. */
  readonly delta: number
}

const form = /^(\d{1,15})(?:\.(\d{1,15})([.-]\d+)*)?$/

/** Returns null for a cursor whose form this version does not know. */
export function positionOf(cursor: string): LogPosition | null {
  const match = form.exec(cursor)
  return match && { seq: Number(match[1]), delta: Number(match[2] ?? 0) }
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  return a.seq > b.seq || (a.seq === b.seq && a.delta > b.delta)
}
