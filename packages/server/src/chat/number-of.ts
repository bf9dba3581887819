/** Of the last durable event up to a position. */
export function numberOf(cursor: string): number {
  return Number.parseInt(cursor, 10)
}
