import type { BranchRecord } from '../../store/contract.ts'
import type { HeldSession } from './held-session.ts'

export type Branch = BranchRecord & { readonly n: number }

/** The ends of all paths with the number of entries on each, in the order in which they came into being. */
export function branchesOf({ entries }: HeldSession): readonly Branch[] {
  const lengths = new Map<string, number>()
  const parents = new Set<string>()
  // Parents stand before their children.
  for (const { id, parentId } of entries.values()) {
    lengths.set(id, (parentId === null ? 0 : (lengths.get(parentId) ?? 0)) + 1)
    if (parentId !== null) parents.add(parentId)
  }
  return [...entries.values()]
    .filter((entry) => !parents.has(entry.id))
    .map(({ id, at, n }) => ({ leaf: id, entries: lengths.get(id) ?? 1, at, n }))
}
