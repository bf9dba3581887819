import type { DurableEvent } from '@bowline/agent-loop'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, TerminalStatus } from '../contract/records.ts'
import { compactionOrder } from './due-compaction.ts'

const pageSize = 500

/** Returns the id of the compaction that, by the log, the run has started and not ended. */
export async function openCompaction(store: SessionStore, run: RunRecord): Promise<string | undefined> {
  if (run.kind !== 'compaction' || run.epoch === 0) return undefined
  let open: string | undefined
  for (let after = run.firstSeq - 1; ;) {
    const { events, lastSeq } = await store.readEvents(run.session, after, pageSize)
    for (const event of events) {
      if (!('runId' in event) || event.runId !== run.id) continue
      if (event.type === 'compaction-start') open = event.compactionId
      if (event.type === 'compaction-end') open = undefined
    }
    after = events.at(-1)?.seq ?? lastSeq
    if (after >= lastSeq) return open
  }
}

/** Returns the last events of a compaction that cannot end itself. A compaction that never started has no end event of its own. */
export function lastEventsOfCompaction(
  run: RunRecord,
  { status }: { readonly status: TerminalStatus },
  { at, open, settled }: { readonly at: number; readonly open: string | undefined; readonly settled: boolean },
): DurableEvent[] {
  const { turn } = compactionOrder(run)
  const base = { at, runId: run.id, turn }
  const outcome =
    status === 'aborted'
      ? ({ outcome: 'cancelled', reason: 'it was stopped' } as const)
      : ({ outcome: 'failed', reason: 'its process was lost' } as const)
  return [
    ...(open === undefined ? [] : [{ ...base, type: 'compaction-end', compactionId: open, ...outcome } as const]),
    ...(settled ? [{ ...base, type: 'settled' } as const] : []),
  ]
}
