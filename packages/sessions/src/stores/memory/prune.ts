import type { PruneReport, PruneRules } from '../../store/contract.ts'
import type { RunRecord } from '../../store/records.ts'
import type { HeldSession, Space } from './held-session.ts'
import { inOneStep, remove, setRecord } from './work.ts'
import type { Work } from './work.ts'
import { applyWrites } from './writes.ts'

/** Removes what nobody needs any more, of at most `limit` sessions. */
export function pruneSpace(space: Space, rules: PruneRules, now: number, limit: number): PruneReport {
  let [runs, events, sessions, touched] = [0, 0, 0, 0]
  for (const held of space.sessions.values()) {
    const isOver = held.record.status === 'expired' && (held.record.expiresAt ?? 0) <= rules.expiredBefore
    const firstKept = isOver ? 0 : firstKeptEvent(held, rules)
    if (!isOver && firstKept <= held.record.firstSeq) continue
    if (touched++ === limit) break
    if (isOver) {
      const leavesNothing = held.record.parent === undefined ? {} : ({ leavesNothing: true } as const)
      inOneStep(space, held.record.key, now, (work) => applyWrites(work, [{ op: 'session.delete', at: now, ...leavesNothing }]))
      sessions += 1
    } else {
      events += firstKept - held.record.firstSeq
      runs += inOneStep(space, held.record.key, now, (work) => forgetBefore(work, held, firstKept))
    }
  }
  forgetDefinitions(space)
  return { runs, events, sessions, more: touched > limit }
}

/** The log may be cut before the first event of a run that is kept. */
function firstKeptEvent({ record, runs }: HeldSession, { runsEndedBefore }: PruneRules): number {
  const kept = [...runs.values()].filter((run) => !endedBefore(run, runsEndedBefore))
  if (kept.length === runs.size) return record.firstSeq
  return Math.min(record.nextSeq, ...kept.map((run) => run.firstSeq))
}

function endedBefore({ endedAt }: RunRecord, time: number): boolean {
  return endedAt !== undefined && endedAt < time
}

/** Rows of the ledger stay, as entries of the transcript refer to them. */
function forgetBefore(work: Work, held: HeldSession, firstSeq: number): number {
  const { record, events, runs, applied } = held
  remove(work, events, [...events.keys()].filter((seq) => seq < firstSeq))
  setRecord(work, { ...record, firstSeq })
  const gone = [...runs.values()].filter((run) => run.firstSeq < firstSeq).map((run) => run.id)
  remove(work, runs, gone)
  remove(work, applied, gone)
  remove(work, work.space.sessionOfRun, gone)
  return gone.length
}

function forgetDefinitions({ sessions, definitions }: Space): void {
  const used = new Set([...sessions.values()].flatMap((held) => [...held.runs.values()].map((run) => run.definition)))
  for (const hash of definitions.keys()) if (!used.has(hash)) definitions.delete(hash)
}
