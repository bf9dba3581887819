/** Position of an entry in a list, newest first. */
export interface ListPlace {
  readonly createdAt: number
  readonly id: string
}

/** The cursor is the last entry shown, so insertions and deletions do not shift pages. */
export function pageOf<T>(found: readonly T[], placeOf: (entry: T) => ListPlace, { limit = 50, cursor }: PageOptions): Page<T> {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const placed = found.map((entry) => ({ entry, place: placeOf(entry) })).filter(({ place }) => !after || byAge(place, after) > 0)
  placed.sort((left, right) => byAge(left.place, right.place))
  const page = placed.slice(0, limit)
  const last = page.at(-1)
  return { page: page.map(({ entry }) => entry), ...(last && placed.length > limit && { nextCursor: cursorOf(last.place) }) }
}

export interface PageOptions {
  readonly limit?: number
  readonly cursor?: string
}

export interface Page<T> {
  readonly page: readonly T[]
  readonly nextCursor?: string
}

function byAge(left: ListPlace, right: ListPlace): number {
  return right.createdAt - left.createdAt || Number(left.id > right.id) - Number(left.id < right.id)
}

function cursorOf({ createdAt, id }: ListPlace): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url')
}

/** Returns undefined if the text is not a cursor. */
export function readCursor(cursor: string): ListPlace | undefined {
  const place = parsed(Buffer.from(cursor, 'base64url').toString())
  if (!Array.isArray(place)) return undefined
  const [createdAt, id] = place as unknown[]
  return typeof createdAt === 'number' && typeof id === 'string' ? { createdAt, id } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The only possible error: the text is not JSON.
    return undefined
  }
}
