import type { ApprovalRequest, ApprovalResolvedEvent } from '../../events/tool-events.ts'
import { writeRows } from '../../kernel/call.ts'
import type { Call } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { snapshotOf } from './child-snapshot.ts'
import type { ChildSnapshot } from './child-snapshot.ts'

type Decision = ApprovalResolvedEvent['decision']

/** Drafts what a subagent asks now and has not asked before, and which of its questions are not open any more. */
export function tellApprovals(turn: Turn, call: Call): void {
  const open = call.below?.pendingApprovals ?? []
  const asked = call.row.asked ?? []
  for (const { approvalId, toolCallId } of asked) {
    if (open.some((request) => request.approvalId === approvalId)) continue
    const decision = decisionIn(snapshotOf(call), approvalId) ?? 'cancelled'
    turn.log.record({ type: 'approval-resolved', step: turn.step, toolCallId, approvalId, decision })
  }
  const news = open.filter((request) => !asked.some(({ approvalId }) => approvalId === request.approvalId))
  for (const request of news) tell(turn, request)
  remember(turn, call, open)
}

/** Drafts the decision on an approval of a subagent, when the log has the request. */
export function tellDecision(turn: Turn, call: Call, event: ApprovalResolvedEvent): void {
  const { asked = [] } = call.row
  const { approvalId, toolCallId, decision, reason, editedInput, by, agent = [] } = event
  if (!asked.some((question) => question.approvalId === approvalId)) return
  turn.log.record({
    ...{ type: 'approval-resolved', step: turn.step, toolCallId, approvalId, decision },
    ...(reason !== undefined && { reason }),
    ...(editedInput !== undefined && { editedInput }),
    ...(by !== undefined && { by }),
    agent: [call.tool?.subagent?.name ?? '', ...agent],
  })
  remember(turn, call, asked.filter((question) => question.approvalId !== approvalId))
}

function tell(turn: Turn, request: ApprovalRequest): void {
  const { approvalId, toolCallId, toolName, input, inputHash, path, agent, reason, deadlineAt } = request
  turn.log.record({
    ...{ type: 'approval-requested', step: turn.step, approvalId, toolCallId, toolName, input, inputHash, path, agent },
    ...(reason !== undefined && { reason }),
    ...(deadlineAt !== undefined && { deadlineAt }),
  })
}

/** In the row, which is stored together with what the log is told. */
function remember(turn: Turn, call: Call, questions: readonly Pick<ApprovalRequest, 'approvalId' | 'toolCallId'>[]): void {
  const { asked: before = [], ...row } = call.row
  if (questions.length === 0 && before.length === 0) return
  const asked = questions.map(({ approvalId, toolCallId }) => ({ approvalId, toolCallId }))
  call.row = asked.length > 0 ? { ...row, asked } : row
  writeRows(turn, [call])
}

/** As far as the open steps of the subagent and those below it still know. */
function decisionIn(child: ChildSnapshot | undefined, approvalId: string): Decision | undefined {
  for (const call of child?.calls ?? []) {
    const { approval } = call.row
    if (approval?.approvalId === approvalId) return approval.state === 'approved' ? 'approve' : 'deny'
    const below = decisionIn(snapshotOf(call), approvalId)
    if (below) return below
  }
  return undefined
}
