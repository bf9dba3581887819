import type { ApprovalDecision, ChildDecision } from '@bowline/agent-loop'
import type { SessionStore } from '../store/contract.ts'
import type { RunRecord } from '../store/records.ts'

/** What was decided about approvals that a child has asked for, or a run below it. Those that are open are left out. */
export async function decidedBelow(store: SessionStore, { parent: above }: RunRecord, asked: readonly string[]): Promise<readonly ChildDecision[]> {
  const decisions: ChildDecision[] = []
  for (const approvalId of asked) {
    const read = await store.readApproval(approvalId)
    if (read.status === 'missing' || !read.value.approval || read.value.approval.state === 'requested') continue
    const { runId, toolCallId, approval } = read.value
    const { state, decision: words = '{}', decided } = approval
    const { reason, input } = JSON.parse(words) as Partial<ApprovalDecision>
    const decision = state === 'approved' ? 'approve' : approval.decision === undefined ? 'cancelled' : 'deny'
    const asker = await store.readRun(runId)
    const path = asker.status === 'found' ? (asker.value.parent?.path ?? []) : []
    const agent = path.slice(above?.path.length ?? 0)
    decisions.push({
      ...{ approvalId, toolCallId, agent, decision },
      ...(reason !== undefined && { reason }),
      ...(input !== undefined && { editedInput: input }),
      ...(decided?.by !== undefined && { by: decided.by }),
    })
  }
  return decisions
}
