import type { ChildDecision } from '@bowline/agent-loop'
import { readAnswers, decidedBefore } from '../contract/answers.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { InboxDecision, RunRecord, ToolCallRecord } from '../contract/records.ts'

export interface ApprovalsBelow {
  readonly decided: readonly ChildDecision[]
  /** Ids of undecided approvals. */
  readonly open: ReadonlySet<string>
}

/**
 * Looks up approvals that a child, or a run below it, has asked for. Each is either decided or open, so that the parent reports it
 * once. A decision counts once it is accepted, before the asking run takes it.
 */
export async function approvalsBelow(
  store: SessionStore,
  { parent: above }: Pick<RunRecord, 'parent'>,
  ids: readonly string[],
): Promise<ApprovalsBelow> {
  const decided: ChildDecision[] = []
  const open = new Set<string>()
  for (const approvalId of ids) {
    const found = await readDecided(store, approvalId)
    if (!found) continue
    const { call, given } = found
    if (!given && waitsForDecision(call)) {
      open.add(approvalId)
      continue
    }
    const { runId, toolCallId } = call
    const { decision = 'cancelled', reason, input, by } = given ?? {}
    const asker = await store.readRun(runId)
    const path = asker.status === 'found' ? (asker.value.parent?.path ?? []) : []
    const agent = path.slice(above?.path.length ?? 0)
    decided.push({
      approvalId,
      toolCallId,
      agent,
      decision,
      ...(reason !== undefined && { reason }),
      ...(input !== undefined && { editedInput: input }),
      ...(by !== undefined && { by }),
    })
  }
  return { decided, open }
}

interface Decided {
  readonly call: ToolCallRecord
  /** Absent for a waiting call and for a cancelled one. */
  readonly given?: InboxDecision | undefined
}

/** If the decision is not in the inbox, reads the call again: the run may have taken it in between. */
async function readDecided(store: SessionStore, approvalId: string): Promise<Decided | undefined> {
  const first = await readCall(store, approvalId)
  if (!first || !waitsForDecision(first)) return first && { call: first, given: takenBy(first) }
  const given = decidedBefore(first, await readAnswers(store, first.session))?.body
  if (given) return { call: first, given }
  const again = await readCall(store, approvalId)
  return again && { call: again, given: takenBy(again) }
}

async function readCall(store: SessionStore, approvalId: string): Promise<ToolCallRecord | undefined> {
  const read = await store.readApproval(approvalId)
  return read.status === 'found' && read.value.approval ? read.value : undefined
}

function waitsForDecision({ approval, state }: ToolCallRecord): boolean {
  return approval?.state === 'requested' && state !== 'settled'
}

/** Returns the decision that took effect. A stopped call is cancelled even if a client has approved it. */
function takenBy(call: ToolCallRecord): InboxDecision | undefined {
  const given = decidedBefore(call, [])?.body
  return given && call.approval?.state === (given.decision === 'approve' ? 'approved' : 'denied') ? given : undefined
}
