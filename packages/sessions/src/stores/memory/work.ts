import type { Batch } from '../../contract/batch.ts'
import type { RunRecord, SessionRecord } from '../../contract/records.ts'
import { Refused } from '../../core/refused.ts'
import { isOpen } from '../../contract/run-status.ts'
import type { HeldSession } from './held-session.ts'
import type { Space, Work } from './space.ts'
import { Table } from './held-session.ts'

/** Applies all of a change to one session, or nothing if anything throws. It is applied once the space has kept it. */
export function inOneStep<T>(space: Space, key: Batch['key'], now: number, change: (work: Work) => T): T {
  const work = beginWork(space, key, now)
  // Added first, so that it runs last.
  work.undo.push(() => space.index.update(key, space.sessions.get(key)))
  try {
    const result = change(work)
    space.keep?.(work)
    space.index.update(key, space.sessions.get(key))
    return result
  } catch (error) {
    takeBack(work)
    throw error
  }
}

/** Undoes a step. Must be called for the newest step first. */
export function takeBack({ undo }: Work): void {
  for (const takeOneBack of undo.reverse()) takeOneBack()
}

function beginWork(space: Space, key: string, now: number): Work {
  const held = space.sessions.get(key)
  return {
    space,
    key,
    now,
    held,
    recordBefore: held?.record,
    undo: [],
    changes: [],
    changedRuns: new Set(),
    references: [],
    outbox: [],
    notify: [],
  }
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
  work.changes.push({ map, key, before, after: value })
  map.set(key, value)
}

export function remove<K, V>(work: Work, map: Map<K, V>, keys: readonly K[]): void {
  const there = keys.flatMap((key): [K, V][] => (map.has(key) ? [[key, map.get(key) as V]] : []))
  if (there.length === 0) return
  // Restores the order of the rows within a session. Maps across sessions have no order to keep.
  const isOrdered: boolean = map instanceof Table
  const kept = isOrdered ? [...map] : there
  work.undo.push(() => {
    if (isOrdered) map.clear()
    for (const [key, value] of kept) map.set(key, value)
  })
  for (const [key, before] of there) {
    work.changes.push({ map, key, before, after: undefined })
    map.delete(key)
  }
}

export function setRecord(work: Work, record: SessionRecord): void {
  const held = heldOf(work)
  const before = held.record
  work.undo.push(() => (held.record = before))
  held.record = record
}

export function setRun(work: Work, run: RunRecord): void {
  const held = heldOf(work)
  const before = held.runs.get(run.id)?.definition
  if (before !== run.definition) {
    countDefinition(work, before, -1)
    countDefinition(work, run.definition, 1)
  }
  put(work, held.runs, run.id, run)
  if (isOpen(run.status)) put(work, held.openRuns, run.id, run)
  else remove(work, held.openRuns, [run.id])
  work.changedRuns.add(run.id)
}

/** Counts a run that starts (1) or stops (-1) referring to the definition. */
export function countDefinition(work: Work, hash: string | undefined, by: 1 | -1): void {
  if (hash === undefined) return
  const { definitionUses } = work.space
  const uses = (definitionUses.get(hash) ?? 0) + by
  if (uses > 0) put(work, definitionUses, hash, uses)
  else remove(work, definitionUses, [hash])
}
