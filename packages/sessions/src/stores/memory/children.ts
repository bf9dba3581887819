import type { CreationPosition } from '../../contract/paging.ts'
import type { ChildQuery } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import { nameOf } from './child-lists.ts'
import type { Space, Work } from './space.ts'
import { countDefinition, remove } from './work.ts'

/** Yields child runs by the parent that they name, whether that still exists or not: in the order of creation, from this one on. */
export function* childrenOf({ children, sessionOfRun }: Space, parent: ChildQuery['parent'], from: CreationPosition): Iterable<RunRecord> {
  for (const { id } of children.get(nameOf('runId' in parent ? { runId: parent.runId } : { session: parent.session }))?.from(from) ?? []) {
    const run = sessionOfRun.get(id)?.runs.get(id)
    if (run) yield run
  }
}

/** Removes runs from the indexes across sessions. */
export function forgetRuns(work: Work, runs: readonly RunRecord[]): void {
  const { space } = work
  for (const run of runs) {
    countDefinition(work, run.definition, -1)
    remove(work, space.sessionOfRun, [run.id])
    space.children.remove(run)
    work.undo.push(() => space.children.add(run))
  }
}
