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

const types = { number: Number.isSafeInteger, text: (value: unknown) => typeof value === 'string' }

type Values<T extends readonly (keyof typeof types)[]> = { readonly [K in keyof T]: T[K] extends 'number' ? number : string }

/** Returns the position after an item, from its values in the columns by which the list is ordered. */
export function printPosition(...values: readonly (string | number)[]): string {
  return JSON.stringify(values)
}

/** Returns the values of a position, whose types are given. Throws `invalid-cursor` for the position of another list. */
export function parsePosition<const T extends readonly (keyof typeof types)[]>(page: string | undefined, ...of: T): Values<T> | undefined {
  if (page === undefined) return undefined
  const values = parsed(page)
  if (Array.isArray(values) && values.length === of.length && of.every((type, at) => types[type](values[at]))) return values as never
  throw new SessionError('invalid-cursor', 'page must be the next of an earlier page, unchanged')
}

function parsed(page: string): unknown {
  try {
    return JSON.parse(page)
  } catch {
    return undefined
  }
}
