import type { SessionStore } from '../../contract/session-store.ts'
import type { EntryRecord } from '../../contract/records.ts'

const pageSize = 200

/**
 * Yields a path from the root to its leaf, or from after the last known entry. Reads the path twice, so that it keeps only one page
 * in memory.
 */
export async function* pathForward(
  store: SessionStore,
  key: string,
  leaf: string | null,
  isKnown: (entryId: string) => boolean = () => false,
): AsyncGenerator<EntryRecord, void, undefined> {
  const read = async (before: string | undefined): Promise<readonly EntryRecord[]> => {
    const { items } = await store.readPath(key, { leaf, limit: pageSize, ...(before === undefined ? {} : { before }) })
    const known = items.findIndex((entry) => isKnown(entry.id))
    return known === -1 ? items : items.slice(0, known)
  }
  /** Entry after which each page starts, newest page first. */
  const starts: (string | undefined)[] = [undefined]
  let page = await read(undefined)
  while (page.length === pageSize) {
    const oldest = page.at(-1)
    if (oldest === undefined || oldest.parentId === null) break
    starts.push(oldest.id)
    page = await read(oldest.id)
  }
  yield* page.toReversed()
  for (const before of starts.slice(0, -1).reverse()) yield* (await read(before)).toReversed()
}
