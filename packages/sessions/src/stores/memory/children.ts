import type { NewRun } from '../../contract/batch.ts'
import type { ChildQuery } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Space, Work } from './space.ts'
import { countDefinition, put, remove } from './work.ts'

type Parent = ChildQuery['parent']

/** Returns child runs by the parent that they name, whether that still exists or not. */
export function childrenOf({ children, sessionOfRun }: Space, parent: Parent): readonly RunRecord[] {
  const ids = children.get(nameOf(parent)) ?? []
  return ids.flatMap((id) => sessionOfRun.get(id)?.runs.get(id) ?? [])
}

export function addChild(work: Work, { id, parent }: NewRun): void {
  for (const name of parentNames(parent)) put(work, work.space.children, name, [...(work.space.children.get(name) ?? []), id])
}

/** Removes runs from the indexes across sessions. */
export function forgetRuns(work: Work, runs: readonly RunRecord[]): void {
  const { children, sessionOfRun } = work.space
  const gone = new Set(runs.map((run) => run.id))
  for (const { definition } of runs) countDefinition(work, definition, -1)
  remove(work, sessionOfRun, [...gone])
  for (const name of new Set(runs.flatMap((run) => parentNames(run.parent)))) {
    const others = (children.get(name) ?? []).filter((child) => !gone.has(child))
    if (others.length > 0) put(work, children, name, others)
    else remove(work, children, [name])
  }
}

export function parentNames(parent: RunRecord['parent']): readonly string[] {
  return parent ? [nameOf({ runId: parent.runId }), nameOf({ session: parent.session })] : []
}

function nameOf(parent: Parent): string {
  return 'runId' in parent ? `run ${parent.runId}` : `session ${parent.session}`
}
