import { compareIds } from '../../contract/paging.ts'
import type { CreationPosition } from '../../contract/paging.ts'
import type { ChildQuery } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import { SortedList } from './sorted-list.ts'
import type { Space, Work } from './space.ts'
import { countDefinition, remove } from './work.ts'

type Parent = ChildQuery['parent']

/** Yields child runs by the parent that they name, whether that still exists or not: in the order of creation, from this one on. */
export function* childrenOf({ children, sessionOfRun }: Space, parent: Parent, from: CreationPosition): Iterable<RunRecord> {
  for (const { id } of children.get(nameOf(parent))?.from(from) ?? []) {
    const run = sessionOfRun.get(id)?.runs.get(id)
    if (run) yield run
  }
}

type Child = CreationPosition & Pick<RunRecord, 'parent'>

export function addChild({ children }: Space, child: Child): void {
  for (const name of parentNames(child)) {
    const list = children.get(name) ?? new SortedList<CreationPosition>((a, b) => a.createdAt - b.createdAt || compareIds(a.id, b.id))
    children.set(name, list)
    list.add(child)
  }
}

export function removeChild({ children }: Space, child: Child): void {
  for (const name of parentNames(child)) {
    const list = children.get(name)
    list?.remove(child)
    if (list?.items.length === 0) children.delete(name)
  }
}

/** Removes runs from the indexes across sessions. */
export function forgetRuns(work: Work, runs: readonly RunRecord[]): void {
  const { space } = work
  for (const run of runs) {
    countDefinition(work, run.definition, -1)
    remove(work, space.sessionOfRun, [run.id])
    removeChild(space, run)
    work.undo.push(() => addChild(space, run))
  }
}

function parentNames({ parent }: Child): readonly string[] {
  return parent ? [nameOf({ runId: parent.runId }), nameOf({ session: parent.session })] : []
}

function nameOf(parent: Parent): string {
  return 'runId' in parent ? `run ${parent.runId}` : `session ${parent.session}`
}
