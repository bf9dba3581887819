import type { CompactionEndEvent, CompactionResult } from '@bowline/agent-loop'
import { addUsage, type Usage } from '@bowline/llm'
import { SessionError } from '../../errors.ts'
import { compactionRun } from '../../writer/due-compaction.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { SessionAccess } from '../access.ts'
import { changeIdle } from './change-idle.ts'
import type { SessionContext } from '../context.ts'
import { waitForRest } from '../wait-for-rest.ts'
import type { CompactOptions, StoredCompaction } from './types.ts'

const pageSize = 500

/**
 * Compacts a session on request. The compaction is a run: it holds the session, so that the path does not grow, inputs queue after
 * it, and a stop reaches it. The process that claims the run executes it.
 */
export async function compactSession(
  context: SessionContext,
  access: SessionAccess,
  { instructions }: CompactOptions,
): Promise<StoredCompaction> {
  const runId = context.ids.next('run')
  await changeIdle(context, access, async ({ agent, turns: turn }) => {
    if (!context.agents.has(agent)) throw new SessionError('unknown-agent', `This runtime has no agent ${agent}. Add it to agents.`)
    const order = { trigger: 'manual', turn, ...(instructions === undefined ? {} : { instructions }) } as const
    return { writes: [compactionRun(runId, order, context.clock.now())] }
  })
  context.wake(access.key)
  return resultOf(context.store, await waitForRest(context, access.key, runId))
}

/** Reads the result from the log. */
async function resultOf(store: SessionStore, run: RunRecord): Promise<StoredCompaction> {
  let end: CompactionEndEvent | undefined
  let tokensBefore = 0
  let usage: Usage | undefined
  for (let after = run.firstSeq - 1; ;) {
    const { events, lastSeq } = await store.readEvents(run.session, after, pageSize)
    for (const event of events) {
      if (!('runId' in event) || event.runId !== run.id) continue
      if (event.type === 'compaction-start') tokensBefore = event.tokensBefore
      if (event.type === 'compaction-end') end = event
      if (event.type === 'usage') usage = addUsage(usage ?? {}, event.usage)
    }
    after = events.at(-1)?.seq ?? lastSeq
    if (after >= lastSeq) break
  }
  const used = usage ? { usage } : {}
  if (!end) return { ...withoutEnd(run), tokensBefore, ...used }
  const { outcome, reason, compaction } = end
  return {
    outcome,
    ...(reason === undefined ? {} : { reason }),
    tokensBefore,
    ...used,
    ...(compaction ? { compaction, tokensAfter: compaction.tokensAfter, entryId: compaction.compactionId } : {}),
  }
}

/** Returns the result of a compaction that never started. */
function withoutEnd({ status, error }: RunRecord): Pick<CompactionResult, 'outcome' | 'reason'> {
  if (status === 'completed') return { outcome: 'skipped', reason: 'the agent has no compactions' }
  if (status === 'aborted') return { outcome: 'cancelled', reason: 'it was stopped' }
  return { outcome: 'failed', reason: error?.message ?? 'it could not be made' }
}
