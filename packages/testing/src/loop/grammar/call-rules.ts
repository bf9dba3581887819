import type { AwaitingToolsEvent, ChildEndEvent, ChildUpdateEvent } from '@bowline/agent-loop'
import { inTurn, notOpenApproval, notOpenCall, noRetryEnd, openApprovals } from './log-state.ts'
import type { CallState, ChildState, LogState, Must, Place, Rules } from './log-state.ts'

const at: readonly Place[] = ['calls']
const everywhere: readonly Place[] = ['outside', 'input', ...inTurn, 'compacting', 'closing']

/** Rules for the calls of an answer. Each call has the order request, decision, start, end; the calls of one answer interleave. */
export const callRules: Rules<
  | ('tool-execution-start' | 'tool-execution-end' | 'awaiting-tools' | 'approval-requested' | 'approval-resolved')
  | ('child-start' | 'child-update' | 'child-end')
> = {
  'tool-execution-start': {
    at,
    take(log, { toolCallId, attempt }, must) {
      const call = log.calls.get(toolCallId)
      if (!call || call.ended || call.running)
        return must(false, call?.running ? `the call ${toolCallId} is already running` : notOpenCall(log, toolCallId))
      must(attempt === call.attempts + 1, `has attempt ${attempt}, expected ${call.attempts + 1}`)
      must(
        call.approval === undefined || call.approval === 'approve',
        `the approval of the call ${toolCallId} is "${call.approval}", expected "approve"`,
      )
      must(log.retry === undefined, noRetryEnd(log))
      call.attempts = attempt
      call.running = true
    },
  },
  'tool-execution-end': {
    at,
    take(log, { toolCallId, executed, message }, must) {
      const call = log.calls.get(toolCallId)
      if (!call) return must(false, notOpenCall(log, toolCallId))
      must(!call.ended, notOpenCall(log, toolCallId))
      must(executed !== 'here' || call.attempts > 0, `has executed "here", but the call ${toolCallId} never started`)
      must(
        message.toolCallId === toolCallId && message.index === call.index,
        `its message is for the call ${message.toolCallId} with index ${message.index}, expected ${toolCallId} with index ${call.index}`,
      )
      log.messages.add(message.id)
      for (const [approvalId, root] of log.approvals) if (root === toolCallId) log.approvals.delete(approvalId)
      call.ended = true
      call.cutOff = message.status !== 'result' && message.status !== 'error'
      call.running = false
    },
  },
  'awaiting-tools': { at, take: awaitTools },
  'approval-requested': {
    at: ['step', 'calls'],
    take(log, { approvalId, toolCallId, path, replaces, about }, must) {
      if (about !== undefined && path.length === 0) return askAboutStep(log, { approvalId, toolCallId }, must)
      const root = path[0] ?? toolCallId
      const call = openCall(log, root)
      must(call !== undefined, notOpenCall(log, root))
      must(!log.usedIds.has(approvalId), `the approval id ${approvalId} is already used`)
      log.usedIds.add(approvalId)
      log.approvals.set(approvalId, root)
      if (!call || path.length > 0) return
      const expected = replaces === undefined ? undefined : 'approve'
      must(call.attempts === 0 && call.approval === expected, notAskable(call, toolCallId, expected))
      call.approval = 'requested'
    },
  },
  'approval-resolved': {
    at: ['step', 'calls'],
    take(log, { approvalId, toolCallId, decision }, must) {
      const call = log.calls.get(toolCallId)
      const root = log.approvals.get(approvalId)
      must(log.approvals.delete(approvalId), notOpenApproval(approvalId))
      if (call && root === toolCallId && call.approval === 'requested') call.approval = decision
    },
  },
  'child-start': {
    at,
    take(log, event, must) {
      const { toolCallId, childRunId, subagent } = event
      const call = openCall(log, toolCallId)
      must(call !== undefined && call.attempts > 0, call ? `the call ${toolCallId} has not started` : notOpenCall(log, toolCallId))
      must(!log.children.has(childRunId), `the subagent run ${childRunId} has already started`)
      log.children.set(childRunId, { toolCallId, subagent, step: 0, isTask: event.taskId !== undefined, ended: false })
    },
  },
  // A child that is a run of its own writes these at any time.
  'child-update': {
    at: everywhere,
    take(log, event, must) {
      const child = openChild(log, event, must)
      if (!child) return
      // The child repeats a step when it starts to wait, and when it resumes.
      must(event.step >= child.step, `the subagent run ${event.childRunId} has step ${event.step}, expected at least ${child.step}`)
      child.step = event.step
    },
  },
  'child-end': {
    at: everywhere,
    take(log, event, must) {
      const child = openChild(log, event, must)
      if (child) child.ended = true
      if (child && !child.isTask) log.owed.push({ toolCallId: child.toolCallId, usage: event.usage })
    },
  },
}

/** Returns why no approval of the call can be requested. */
function notAskable({ attempts, approval }: CallState, toolCallId: string, expected: 'approve' | undefined): string {
  if (attempts > 0) return `the call ${toolCallId} has already started`
  if (expected === undefined) return `the approval of the call ${toolCallId} was already requested`
  return `has replaces, but the approval of the call ${toolCallId} is ${approval ? `"${approval}"` : 'not requested'}, expected "approve"`
}

function askAboutStep(
  log: LogState,
  { approvalId, toolCallId }: { readonly approvalId: string; readonly toolCallId: string },
  must: Must,
): void {
  must(log.place === 'step', 'asks about a step that already has its answer')
  must(log.approvals.size === 0, openApprovals(log))
  must(!log.usedIds.has(approvalId), `the approval id ${approvalId} is already used`)
  log.usedIds.add(approvalId)
  log.approvals.set(approvalId, toolCallId)
}

function awaitTools(log: LogState, { pendingToolCalls, continues }: AwaitingToolsEvent, must: Must): void {
  log.continues = continues === true
  const listed = pendingToolCalls.map(({ path, toolCallId }) => [...path, toolCallId].join('/'))
  must(listed.length > 0, 'pendingToolCalls is empty')
  const repeated = listed.find((id, index) => listed.indexOf(id) < index)
  must(repeated === undefined, `pendingToolCalls has the call ${repeated} twice`)
  for (const { path, toolCallId } of pendingToolCalls) {
    const root = path[0] ?? toolCallId
    must(openCall(log, root) !== undefined, notOpenCall(log, root))
  }
}

function openCall(log: LogState, toolCallId: string): CallState | undefined {
  const call = log.calls.get(toolCallId)
  return call?.ended === false ? call : undefined
}

function openChild(log: LogState, { childRunId, subagent }: ChildUpdateEvent | ChildEndEvent, must: Must): ChildState | undefined {
  const child = log.children.get(childRunId)
  must(!child || child.subagent === subagent, `the subagent run ${childRunId} has subagent ${subagent}, expected ${child?.subagent}`)
  must(log.isPartial || child?.ended === false, `the subagent run ${childRunId} ${child ? 'has already ended' : 'has not started'}`)
  return child
}
