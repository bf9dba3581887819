import type { ChildDecision } from '@bowline/agent-loop'
import { decidedBefore } from '../session/decisions.ts'
import { readAnswers } from '../session/views.ts'
import type { SessionStore } from '../store/contract.ts'
import type { RunRecord } from '../store/records.ts'

export interface ApprovalsBelow {
  readonly decided: readonly ChildDecision[]
  /** Ids of those that wait for a decision. */
  readonly open: ReadonlySet<string>
}

/**
 * Looks up approvals that a child has asked for, or a run below it. Each is either decided or open, so that the parent tells
 * of it once. A decision counts from its acceptance, before the run that asked takes it.
 */
export async function approvalsBelow(store: SessionStore, { parent: above }: RunRecord, ids: readonly string[]): Promise<ApprovalsBelow> {
  const decided: ChildDecision[] = []
  const open = new Set<string>()
  for (const approvalId of ids) {
    const read = await store.readApproval(approvalId)
    if (read.status === 'missing' || !read.value.approval) continue
    const { runId, toolCallId, session, state, approval } = read.value
    const isRequested = approval.state === 'requested' && state !== 'settled'
    const given = decidedBefore(read.value, isRequested ? await readAnswers(store, session) : [])?.body
    if (isRequested && !given) {
      open.add(approvalId)
      continue
    }
    const { reason, input, by } = given ?? {}
    const isTaken = given && (isRequested || approval.state === (given.decision === 'approve' ? 'approved' : 'denied'))
    const decision = isTaken ? given.decision : 'cancelled'
    const asker = await store.readRun(runId)
    const path = asker.status === 'found' ? (asker.value.parent?.path ?? []) : []
    const agent = path.slice(above?.path.length ?? 0)
    decided.push({
      ...{ approvalId, toolCallId, agent, decision },
      ...(reason !== undefined && { reason }),
      ...(input !== undefined && { editedInput: input }),
      ...(by !== undefined && { by }),
    })
  }
  return { decided, open }
}
