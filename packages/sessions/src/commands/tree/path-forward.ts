import type { SessionStore } from '../../contract/session-store.ts'
import { nextTurn } from '../../contract/paging.ts'
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
    await nextTurn()
    const { items } = await store.readPath(key, { leaf, limit: pageSize, ...(before === undefined ? {} : { before }) })
    const known = items.findIndex((entry) => isKnown(entry.id))
    return known === -1 ? items : items.slice(0, known)
  }
  /** Entry before which each page ends, newest page first. */
  const ends: (string | undefined)[] = []
  let page: readonly EntryRecord[] = []
  do {
    ends.push(page.at(-1)?.id)
    page = await read(ends.at(-1))
  } while (page.length === pageSize)
  yield* page.toReversed()
  for (const before of ends.slice(0, -1).reverse()) yield* (await read(before)).toReversed()
}
