import type { PruneReport, PruneRules } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import { forgetRuns } from './children.ts'
import type { HeldSession } from './held-session.ts'
import { pruneNotices } from './notices.ts'
import type { Space, Work } from './space.ts'
import { oldestRun } from './session-index.ts'
import { inOneStep, remove, setRecord } from './work.ts'

/** Removes data that is no longer needed from at most `limit` sessions. */
export function pruneSpace(space: Space, rules: PruneRules, now: number, limit: number): PruneReport {
  const { runsEndedBefore } = rules
  let [runs, events, touched] = [0, 0, 0]
  for (const held of [...space.index.ended.until(runsEndedBefore)]) {
    const gone = runsToForget(held, runsEndedBefore)
    if (gone.length === 0) continue
    if (touched++ === limit) break
    events += inOneStep(space, held.record.key, now, (work) => forget(work, held, gone, runsEndedBefore))
    runs += gone.length
  }
  const moreNotices = pruneNotices(space, rules, now, limit)
  return { runs, events, more: touched > limit || moreNotices }
}

/** Returns the ended runs before the first one that is kept. Events from the first event of a kept run on must stay. */
function runsToForget({ runs }: HeldSession, time: number): readonly RunRecord[] {
  const gone: RunRecord[] = []
  for (const run of runs.values()) {
    if (!endedBefore(run, time)) break
    gone.push(run)
  }
  return gone
}

function endedBefore({ endedAt }: RunRecord, time: number): boolean {
  return endedAt !== undefined && endedAt < time
}

/** Forgets ended runs. Keeps their calls in the ledger: entries of the transcript refer to them. */
function forget(work: Work, held: HeldSession, gone: readonly RunRecord[], time: number): number {
  const ids = gone.map((run) => run.id)
  remove(work, held.runs, ids)
  remove(work, held.applied, ids)
  remove(
    work,
    held.inputs,
    gone.flatMap((run) => run.inputId ?? []),
  )
  forgetRuns(work, gone)
  const taken = [...held.inbox.values()].filter(({ kind, at }) => kind === 'taken' && at < time)
  remove(
    work,
    held.inbox,
    taken.map((row) => row.id),
  )
  return cutLog(work, held)
}

/** Removes the events before the first remaining run. Returns how many there were. */
function cutLog(work: Work, held: HeldSession): number {
  const { record, events } = held
  const { firstSeq, nextSeq } = record
  const firstKept = oldestRun(held)?.firstSeq ?? nextSeq
  remove(
    work,
    events,
    Array.from({ length: firstKept - firstSeq }, (_, index) => firstSeq + index),
  )
  setRecord(work, { ...record, firstSeq: firstKept })
  return firstKept - firstSeq
}

/** Removes definitions to which no run refers. */
export function forgetDefinitions({ definitions, definitionUses }: Space): void {
  for (const hash of definitions.keys()) if (!definitionUses.has(hash)) definitions.delete(hash)
}
