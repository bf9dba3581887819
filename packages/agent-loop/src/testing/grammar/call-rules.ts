import type { AwaitingToolsEvent, ChildEndEvent, ChildUpdateEvent } from '../../events/tool-events.ts'
import { inTurn } from './log-state.ts'
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
      if (!call || call.ended || call.running) return must(false, `${toolCallId} cannot start`)
      must(attempt === call.attempts + 1, `attempt ${attempt} follows ${call.attempts}`)
      must(call.approval === undefined || call.approval === 'approve', `${toolCallId} is not approved`)
      must(log.retry === undefined, 'the retry has no end')
      call.attempts = attempt
      call.running = true
    },
  },
  'tool-execution-end': {
    at,
    take(log, { toolCallId, executed, message }, must) {
      const call = log.calls.get(toolCallId)
      if (!call) return must(false, `${toolCallId} was not asked for`)
      must(!call.ended, `${toolCallId} has ended already`)
      must(executed !== 'here' || call.attempts > 0, `${toolCallId} never started`)
      must(message.toolCallId === toolCallId && message.index === call.index, 'its result belongs to another call')
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
      must(call !== undefined, `${root} is not open`)
      must(!log.usedIds.has(approvalId), `the id ${approvalId} is used`)
      log.usedIds.add(approvalId)
      log.approvals.set(approvalId, root)
      if (!call || path.length > 0) return
      must(call.attempts === 0 && call.approval === (replaces === undefined ? undefined : 'approve'), `${toolCallId} has started, or was asked about before`)
      call.approval = 'requested'
    },
  },
  'approval-resolved': {
    at: ['step', 'calls'],
    take(log, { approvalId, toolCallId, decision }, must) {
      const call = log.calls.get(toolCallId)
      const root = log.approvals.get(approvalId)
      must(log.approvals.delete(approvalId), `${approvalId} was not requested`)
      if (call && root === toolCallId && call.approval === 'requested') call.approval = decision
    },
  },
  'child-start': {
    at,
    take(log, event, must) {
      const { toolCallId, childRunId, subagent } = event
      const call = openCall(log, toolCallId)
      must(call !== undefined && call.attempts > 0, `${toolCallId} is not running`)
      must(!log.children.has(childRunId), `${childRunId} has started already`)
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
      must(event.step >= child.step, `step ${event.step} of ${event.childRunId} follows ${child.step}`)
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

function askAboutStep(log: LogState, { approvalId, toolCallId }: { readonly approvalId: string; readonly toolCallId: string }, must: Must): void {
  must(log.place === 'step', 'the step has its answer')
  must(log.approvals.size === 0, 'the question before has no answer')
  must(!log.usedIds.has(approvalId), `the id ${approvalId} is used`)
  log.usedIds.add(approvalId)
  log.approvals.set(approvalId, toolCallId)
}

function awaitTools(log: LogState, { pendingToolCalls }: AwaitingToolsEvent, must: Must): void {
  const listed = pendingToolCalls.map(({ path, toolCallId }) => [...path, toolCallId].join('/'))
  must(listed.length > 0, 'nothing waits')
  must(new Set(listed).size === listed.length, 'lists a call twice')
  for (const { path, toolCallId } of pendingToolCalls) {
    const root = path[0] ?? toolCallId
    must(openCall(log, root) !== undefined, `${root} is not open`)
  }
}

function openCall(log: LogState, toolCallId: string): CallState | undefined {
  const call = log.calls.get(toolCallId)
  return call?.ended === false ? call : undefined
}

function openChild(log: LogState, { childRunId, subagent }: ChildUpdateEvent | ChildEndEvent, must: Must): ChildState | undefined {
  const child = log.children.get(childRunId)
  must(!child || child.subagent === subagent, `${childRunId} started as ${child?.subagent}, and this names ${subagent}`)
  must(log.isPartial || child?.ended === false, `${childRunId} is not open`)
  return child
}
