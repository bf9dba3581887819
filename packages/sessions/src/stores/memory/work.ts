import type { Batch } from '../../store/contract.ts'
import type { NewEvent } from '../../store/contract.ts'
import type { RunRecord, SessionRecord } from '../../store/records.ts'
import { Refused } from '../refused.ts'
import { isOpen } from '../rules.ts'
import type { HeldSession, Space } from './held-session.ts'

/** The writes to one session on their way. */
export interface Work {
  readonly space: Space
  readonly key: string
  readonly now: number
  /** How to take back what was done so far, newest last. Shared by a batch and its deliveries. */
  readonly undo: (() => void)[]
  readonly changedRuns: Set<string>
  readonly references: NonNullable<NewEvent['refers']>[]
  held: HeldSession | undefined
}

export function beginWork(space: Space, key: Batch['key'], now: number, undo: (() => void)[]): Work {
  return { space, key, now, held: space.sessions.get(key), undo, changedRuns: new Set(), references: [] }
}

export function heldOf(work: Work): HeldSession {
  if (!work.held) throw new Refused(work.space.tombstones.has(work.key) ? 'deleted' : 'missing')
  return work.held
}

export function runIn(work: Work, runId: string): RunRecord | undefined {
  return work.held?.runs.get(runId)
}

export function put<K, V>(work: Work, map: Map<K, V>, key: K, value: V): void {
  const before = map.get(key)
  work.undo.push(() => (before === undefined ? map.delete(key) : map.set(key, before)))
  map.set(key, value)
}

export function remove<K, V>(work: Work, map: Map<K, V>, key: K): void {
  if (!map.has(key)) return
  const all = [...map]
  // All of them again, so that the order stays as it was.
  work.undo.push(() => {
    map.clear()
    for (const [name, value] of all) map.set(name, value)
  })
  map.delete(key)
}

export function setRecord(work: Work, record: SessionRecord): void {
  const held = heldOf(work)
  const before = held.record
  work.undo.push(() => (held.record = before))
  held.record = record
}

export function setRun(work: Work, run: RunRecord): void {
  const held = heldOf(work)
  put(work, held.runs, run.id, run)
  if (isOpen(run.status)) put(work, held.openRuns, run.id, run)
  else remove(work, held.openRuns, run.id)
  work.changedRuns.add(run.id)
}
