import { SessionError } from '../errors.ts'

/** One page of a list. `next` is absent on the last page. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Pass it as `page` to read the next items. */
  readonly next?: string
}

/** Size and position of one page of a list. */
export interface PageRequest {
  /** Default 100, at most 1,000. */
  readonly limit?: number
  readonly page?: string
}

const defaultLimit = 100
const highestLimit = 1000

/** Returns the size of a page: 100 by default, 1 to 1,000 otherwise. */
export function pageLimit(limit = defaultLimit): number {
  return Math.max(1, Math.min(highestLimit, Math.trunc(limit)))
}

/** Makes a page from up to `limit + 1` items: the extra item shows that there is a next page. */
export function pageOf<T>(found: readonly T[], limit: number, positionOf: (last: T) => string): Page<T> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return found.length > limit && last !== undefined ? { items, next: positionOf(last) } : { items }
}

/** Lets other work of the process run between two pages: a store in this process may answer without a pause. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Reads all pages, with as few calls as possible. */
export async function readAll<T>(read: (request: PageRequest) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  let page: string | undefined
  do {
    const found: Page<T> = await read({ limit: highestLimit, ...(page === undefined ? {} : { page }) })
    items.push(...found.items)
    page = found.next
  } while (page !== undefined)
  return items
}

/** Compares by UTF-8 bytes. The order differs from that of UTF-16 units only for surrogates: they come after U+FFFF. */
export function compareIds(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let place = 0; place < length; place++) {
    const difference = rankOf(left.charCodeAt(place)) - rankOf(right.charCodeAt(place))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

function rankOf(unit: number): number {
  if (unit >= 0xe000) return unit - 0x0800
  return unit >= 0xd800 ? unit + 0x2000 : unit
}

/** A position in the list of sessions: newest activity first, then by key. */
export interface SessionPosition {
  readonly activeAt: number
  readonly key: string
}

/** Compares by newest activity, then by key. */
export function byActivity(a: SessionPosition, b: SessionPosition): number {
  return b.activeAt - a.activeAt || compareIds(a.key, b.key)
}

export function printSessionPosition(position: SessionPosition): string {
  return `${position.activeAt}:${position.key}`
}

export function parseSessionPosition(page: string): SessionPosition {
  const parts = /^(\d{1,16}):(.+)$/.exec(page)
  if (!parts) throw invalidPage()
  return { activeAt: Number(parts[1]), key: String(parts[2]) }
}

/** A position in a list in order of creation: time, then id. */
export interface CreationPosition {
  readonly createdAt: number
  readonly id: string
}

export function printCreationPosition({ createdAt, id }: CreationPosition): string {
  return `${createdAt}:${id}`
}

export function parseCreationPosition(page: string): CreationPosition {
  const { activeAt, key } = parseSessionPosition(page)
  return { createdAt: activeAt, id: key }
}

/** Parses a position in a list of runs or of branches: the number of the last run or entry. */
export function parseNumberPosition(page: string): number {
  if (!/^\d{1,16}$/.test(page)) throw invalidPage()
  return Number(page)
}

/** A position in a list ordered by session key, then by id. */
export interface TimerPosition {
  readonly session: string
  readonly id: string
}

export function printTimerPosition({ session, id }: TimerPosition): string {
  return `${session.length}:${session}${id}`
}

export function parseTimerPosition(page: string): TimerPosition {
  const parts = /^(\d{1,4}):(.+)$/s.exec(page)
  const [length, text] = [Number(parts?.[1]), parts?.[2] ?? '']
  if (!parts || text.length < length) throw invalidPage()
  return { session: text.slice(0, length), id: text.slice(length) }
}

/** Returns the error for a position of another list. */
export function invalidPage(): SessionError {
  return new SessionError('invalid-cursor', 'page must be the next of an earlier page, unchanged')
}
