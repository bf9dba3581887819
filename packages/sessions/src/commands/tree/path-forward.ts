import type { SessionStore } from '../../contract/session-store.ts'
import type { EntryRecord } from '../../contract/records.ts'

const pageSize = 200

/**
 * A path from the root to its leaf, or from behind the last entry that is known already. It is read twice, so that never
 * more than a page of it is held.
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
  /** Behind which entry each page begins, newest page first. */
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
