import type { ToldChild } from '../../contract/journal.ts'
import type { ChildReport } from '../../contract/tool.ts'
import type { ApprovalRequest, ApprovalResolvedEvent } from '../../events/tool-events.ts'
import { writeRows } from '../../kernel/call.ts'
import type { Call } from '../../kernel/call.ts'
import { chargeAll } from '../../kernel/spending.ts'
import type { Turn } from '../../kernel/turn.ts'
import { snapshotOf } from './child.ts'
import type { ChildSnapshot } from './child.ts'

type Report<Kind extends ChildReport['kind']> = Extract<ChildReport, { kind: Kind }>

const textCharacters = 500

/**
 * Drafts the events for a report of a call about its subagent, or about other work. Drops a report that comes after the end, or
 * that the log already has: a call that runs again after a crash reports from the beginning. The row of the call, stored in the
 * same commit as the events, tells which reports the log has.
 */
export function recordChild(turn: Turn, call: Call, report: ChildReport): void {
  if (call.tool?.subagent && turn.run.journal.children?.logs) return report.kind === 'end' ? book(turn, call, report) : undefined
  const told = call.row.told?.find(({ childRunId }) => childRunId === report.childRunId) ?? begin(turn, call, report)
  if (told.ended) return
  switch (report.kind) {
    case 'start':
      return
    case 'update':
      return update(turn, call, report, told)
    case 'end':
      mark(call, { ...told, ended: true })
      return end(turn, call, report, told)
    default:
      return report satisfies never
  }
}

/** Drafts the start of a subagent. If it does not report its start, its first report counts as the start. */
function begin(turn: Turn, call: Call, report: ChildReport): ToldChild {
  const { childRunId } = report
  const { row } = call
  const { subagent, description } = report.kind === 'start' ? report : { subagent: row.toolName }
  const told: ToldChild = { childRunId, subagent }
  mark(call, told)
  turn.log.record({
    type: 'child-start',
    step: turn.step,
    toolCallId: row.toolCallId,
    childRunId,
    subagent,
    ...(description !== undefined && { description }),
  })
  return told
}

function mark(call: Call, told: ToldChild): void {
  const others = call.row.told?.filter(({ childRunId }) => childRunId !== told.childRunId) ?? []
  call.row = { ...call.row, told: [...others, told] }
}

function update(turn: Turn, call: Call, report: Report<'update'>, told: ToldChild): void {
  const { childRunId, step, status = 'running', text, toolNames = [] } = report
  const { row } = call
  const before = told.update
  if (before && (step < before.step || (step === before.step && status === before.status))) return
  const news = { step, status, ...(text !== undefined && { text: text.slice(0, textCharacters).toWellFormed() }), toolNames }
  mark(call, { ...told, update: news })
  turn.log.record({ type: 'child-update', toolCallId: row.toolCallId, childRunId, subagent: told.subagent, ...news })
}

function end(turn: Turn, call: Call, report: Report<'end'>, { subagent }: ToldChild): void {
  const { row } = call
  const { childRunId, status, usage = {}, cost, error } = report
  turn.log.record({
    type: 'child-end',
    step: turn.step,
    toolCallId: row.toolCallId,
    childRunId,
    subagent,
    status,
    usage,
    ...(cost && { cost }),
    ...(error && { error }),
  })
  book(turn, call, report)
}

function book(turn: Turn, { tool }: Call, { usage = {}, cost }: Report<'end'>): void {
  turn.bookApart('child', usage, cost)
  // A subagent that runs here has charged the shared budgets itself.
  const isHosted = tool?.subagent !== undefined && turn.run.journal.children !== undefined
  if (!tool?.subagent || isHosted) chargeAll(turn, { usage, cost }, isHosted)
}

/** Drafts new approval requests of a subagent, and the end of requests that are not open any more. */
export function tellApprovals(turn: Turn, call: Call): void {
  const open = call.below?.pendingApprovals ?? []
  const asked = call.row.asked ?? []
  for (const { approvalId, toolCallId } of asked) {
    if (open.some((request) => request.approvalId === approvalId)) continue
    const isAskedAgain = open.some(({ replaces }) => replaces === approvalId)
    const decision = isAskedAgain ? 'approve' : (decisionIn(snapshotOf(call), approvalId) ?? 'cancelled')
    turn.log.record({ type: 'approval-resolved', step: turn.step, toolCallId, approvalId, decision })
  }
  const news = open.filter((request) => !asked.some(({ approvalId }) => approvalId === request.approvalId))
  for (const request of news) tell(turn, request)
  remember(turn, call, open)
}

/** Drafts the decision on an approval of a subagent, if the log has the request. */
export function tellDecision(turn: Turn, call: Call, event: ApprovalResolvedEvent): void {
  const { asked = [] } = call.row
  const { approvalId, toolCallId, decision, reason, editedInput, by, agent = [] } = event
  if (!asked.some((question) => question.approvalId === approvalId)) return
  turn.log.record({
    type: 'approval-resolved',
    step: turn.step,
    toolCallId,
    approvalId,
    decision,
    ...(reason !== undefined && { reason }),
    ...(editedInput !== undefined && { editedInput }),
    ...(by !== undefined && { by }),
    agent: [call.tool?.subagent?.name ?? '', ...agent],
  })
  remember(
    turn,
    call,
    asked.filter((question) => question.approvalId !== approvalId),
  )
}

function tell(turn: Turn, request: ApprovalRequest): void {
  const { approvalId, toolCallId, toolName, input, inputHash, path, agent, reason, replaces, about, deadlineAt } = request
  turn.log.record({
    type: 'approval-requested',
    step: turn.step,
    approvalId,
    toolCallId,
    toolName,
    input,
    inputHash,
    path,
    agent,
    ...(reason !== undefined && { reason }),
    ...(replaces !== undefined && { replaces }),
    ...(about !== undefined && { about }),
    ...(deadlineAt !== undefined && { deadlineAt }),
  })
}

/** Keeps the open requests in the row, which is stored in the same commit as their events. */
function remember(turn: Turn, call: Call, questions: readonly Pick<ApprovalRequest, 'approvalId' | 'toolCallId'>[]): void {
  const { asked: before = [], ...row } = call.row
  if (questions.length === 0 && before.length === 0) return
  const asked = questions.map(({ approvalId, toolCallId }) => ({ approvalId, toolCallId }))
  call.row = asked.length > 0 ? { ...row, asked } : row
  writeRows(turn, [call])
}

/** Finds a decision, as far as the open steps of the subagent and of its own subagents still know it. */
function decisionIn(child: ChildSnapshot | undefined, approvalId: string): ApprovalResolvedEvent['decision'] | undefined {
  for (const call of child?.calls ?? []) {
    const { approval } = call.row
    if (approval?.approvalId === approvalId) return approval.state === 'approved' ? 'approve' : 'deny'
    const below = decisionIn(snapshotOf(call), approvalId)
    if (below) return below
  }
  return undefined
}
