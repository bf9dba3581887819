import type { BranchRecord } from '../contract/session-store.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { EntryNode } from '../contract/records.ts'
import { pageLimit, pageOf, parsePosition, printPosition } from '../contract/paging.ts'

type Branch = BranchRecord & { readonly n: number }

/** Returns the leaf of each branch with the number of entries on its path, in the order of `nodes`: by time of creation. */
export function branchesOf(nodes: Iterable<Pick<EntryNode, 'id' | 'parentId' | 'n' | 'at'>>): readonly Branch[] {
  const lengths = new Map<string, number>()
  const parents = new Set<string>()
  const all = [...nodes]
  // `nodes` lists parents before their children.
  for (const { id, parentId } of all) {
    lengths.set(id, (parentId === null ? 0 : (lengths.get(parentId) ?? 0)) + 1)
    if (parentId !== null) parents.add(parentId)
  }
  return all.filter(({ id }) => !parents.has(id)).map(({ id, at, n }) => ({ leaf: id, entries: lengths.get(id) ?? 1, at, n }))
}

export function pageOfBranches(
  branches: readonly Branch[],
  { page, limit }: { readonly [K in keyof PageRequest]: PageRequest[K] | undefined },
): Page<BranchRecord> {
  const [after = 0] = parsePosition(page, 'number') ?? []
  const found = pageOf(
    branches.filter(({ n }) => n > after),
    pageLimit(limit),
    (last) => printPosition(last.n),
  )
  return { ...found, items: found.items.map(({ leaf, entries, at }) => ({ leaf, entries, at })) }
}
