import type { Redaction } from '@bowline/llm'
import type { RunRecord, Session } from '@bowline/sessions'
import { numberOf } from '../session-log.ts'
import { hasCode } from '../to-problem-error.ts'
import { TurnFold } from './turn-fold.ts'

interface Log {
  readonly session: Pick<Session, 'events'>
  readonly sessionId: string
  readonly redaction: Redaction
  /** Position of the end of the log when the runs were read. */
  readonly end: string
}

export interface ReadTurns {
  readonly folds: ReadonlyMap<string, TurnFold>
  /** Position up to which the turns were read. */
  readonly cursor: string
}

/** Reads the events of these runs in one pass. A run whose first event is no longer in the log has no fold. */
export async function readTurns(log: Log, runs: readonly RunRecord[]): Promise<ReadTurns> {
  try {
    return await readFrom(log, runs)
  } catch (error) {
    if (!hasCode(error, 'cursor-expired')) throw error
    const { firstSeq = Infinity } = error as { readonly firstSeq?: number }
    return readFrom(
      log,
      runs.filter((run) => run.firstSeq >= firstSeq),
    )
  }
}

async function readFrom({ session, sessionId, redaction, end }: Log, runs: readonly RunRecord[]): Promise<ReadTurns> {
  const folds = new Map(runs.map(({ id }) => [id, new TurnFold({ sessionId, runId: id }, redaction)]))
  const open = new Set(folds.keys())
  let cursor = end
  if (open.size === 0) return { folds, cursor }
  const from = Math.min(...runs.map(({ firstSeq }) => firstSeq)) - 1
  for await (const event of session.events({ cursor: `${from}`, live: 'so-far' })) {
    const isNew = numberOf(event.cursor) > numberOf(end)
    // The runs and the path were read before this event, so they do not show its effect.
    if (isNew && (event.type === 'run-queued' || event.type === 'branch-switched' || event.type === 'session-end')) break
    if (isNew || event.cursor.startsWith(`${end}.`)) cursor = event.cursor
    const fold = 'runId' in event && folds.get(event.runId)
    if (!fold) continue
    fold.push(event)
    if (!fold.isOver) continue
    open.delete(event.runId)
    if (open.size === 0) break
  }
  return { folds, cursor }
}
