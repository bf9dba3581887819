import { compareIds } from '../../contract/paging.ts'
import type { CreationPosition } from '../../contract/paging.ts'
import type { ChildQuery } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import { SortedLists } from './sorted-lists.ts'

type Child = CreationPosition & Pick<RunRecord, 'parent'>
export type ChildLists = SortedLists<Child, CreationPosition>

/** Child runs of each run and of each session, in order of creation. */
export function childLists(): ChildLists {
  return new SortedLists<Child, CreationPosition>((a, b) => a.createdAt - b.createdAt || compareIds(a.id, b.id), parentNames)
}

function parentNames({ parent }: Child): readonly string[] {
  return parent ? [nameOf({ runId: parent.runId }), nameOf({ session: parent.session })] : []
}

export function nameOf(parent: ChildQuery['parent']): string {
  return JSON.stringify(parent)
}
