import { answerId, decisionId } from '../../contract/answers.ts'
import type { InboxRecord, RunRecord, ToolCallRecord } from '../../contract/records.ts'
import type { CallResume, InspectedCall } from './types.ts'

type Next = Pick<InspectedCall, 'resume' | 'next'>

/** Context of a call: its run, and what the run waits for. */
export interface CallSituation {
  readonly run: RunRecord
  readonly inbox: readonly InboxRecord[]
  /** Open runs of its subagents. */
  readonly children: readonly RunRecord[]
  readonly now: number
}

/** Returns a call with the action of a process that continues the run. */
export function inspectCall(call: ToolCallRecord, situation: CallSituation): InspectedCall {
  const { toolCallId, name, step, effect, state, status, attempt, idempotencyKey, startedAt, deadlineAt, approval } = call
  const childSession = childOf(call, situation)
  return {
    toolCallId,
    name,
    step,
    effect,
    state,
    attempt,
    idempotencyKey,
    ...(status && { status }),
    ...(startedAt !== undefined && { startedAt }),
    ...(deadlineAt !== undefined && { deadlineAt }),
    ...(childSession !== undefined && { childSession }),
    ...(approval && { approvalId: approval.approvalId }),
    ...nextOf(call, situation),
  }
}

function childOf({ toolCallId }: ToolCallRecord, { children }: CallSituation): string | undefined {
  return children.find(({ parent }) => parent?.toolCallId === toolCallId)?.session
}

function nextOf(call: ToolCallRecord, situation: CallSituation): Next {
  if (call.state === 'settled') return to('nothing', `Settled (${call.status}): it never runs again.`)
  if (situation.run.stop) return ofStopped(call)
  const { run, inbox } = situation
  if (inbox.some(({ id }) => id === answerId(run.id, call.toolCallId)))
    return to('takes-answer', 'Its answer is in the inbox: the run takes it.')
  switch (call.state) {
    case 'pending':
      return ofPending(call, situation)
    case 'remote':
      return ofRemote(call, situation)
    case 'started':
      return ofStarted(call, situation)
    default:
      return call.state satisfies never
  }
}

function ofStopped({ state, effect, childKey }: ToolCallRecord): Next {
  if (childKey !== undefined) return to('ends', 'The run is being stopped: its subagent is stopped too.')
  if (state === 'started' && effect === 'once')
    return to('ends', 'The run is being stopped: the outcome is stored as unknown, as the effect may have happened.')
  return to('ends', 'The run is being stopped: the call is cancelled.')
}

function ofPending({ approval, about }: ToolCallRecord, { run, inbox, now }: CallSituation): Next {
  if (!approval) return to('starts', 'It has not started: it starts.')
  const { approvalId, state } = approval
  const row = inbox.find(({ id }) => id === decisionId(run.id, approvalId))
  const decision = row?.kind === 'decision' ? (row.body.decision === 'approve' ? 'approved' : 'denied') : state
  if (about === 'budget') return ofQuestion(approvalId, decision)
  if (decision === 'approved') return to('starts', 'It was approved and has not started: it starts.')
  if (decision === 'denied') return to('takes-answer', 'It was denied: the model is told so.')
  const { deadlineAt } = run.pendingApprovals.find((each) => each.approvalId === approvalId) ?? {}
  if (isPast(deadlineAt, now)) return to('takes-answer', `No decision came before ${timeOf(deadlineAt)}: it counts as denied.`)
  const until = deadlineAt === undefined ? '' : ` until ${timeOf(deadlineAt)}`
  return to('waits-for-approval', `It waits for approve or deny of ${approvalId}${until}.`)
}

function ofQuestion(approvalId: string, decision: 'approved' | 'denied' | 'requested'): Next {
  if (decision === 'approved') return to('takes-answer', 'More was granted: the model is asked, if it is enough.')
  if (decision === 'denied') return to('takes-answer', 'More was denied: the run ends as limit.')
  return to(
    'waits-for-approval',
    `No budget has room for the next call: it waits for grant or deny of ${approvalId}, or until there is room.`,
  )
}

function ofRemote({ toolCallId, deadlineAt }: ToolCallRecord, { now }: CallSituation): Next {
  if (isPast(deadlineAt, now)) return to('takes-answer', `No result came before ${timeOf(deadlineAt)}: the model is told so.`)
  const until = deadlineAt === undefined ? '' : ` until ${timeOf(deadlineAt)}`
  return to('waits-for-result', `It waits for submitToolResults with ${toolCallId}${until}.`)
}

/** Uses the effect that the call was started with, even if the tool declares another one now. */
function ofStarted(call: ToolCallRecord, situation: CallSituation): Next {
  const { toolCallId, effect, idempotencyKey, childKey } = call
  const { run } = situation
  if (childKey !== undefined) {
    const session = childOf(call, situation)
    return to(
      'waits-for-subagent',
      session === undefined
        ? 'Its subagent has no open run: what that said is taken, or it is started.'
        : `Its subagent in the session ${session} goes on: nothing starts anew.`,
    )
  }
  if (effect !== 'once') return to('runs-again', `It is ${effect}: it runs again under the key ${idempotencyKey}.`)
  if (run.status === 'needs-recovery' && run.pendingToolCalls.some((each) => each.unknown && each.toolCallId === toolCallId)) {
    return to('waits-for-recovery', `Its effect may or may not have happened: it waits for resolveTool of ${toolCallId}.`)
  }
  return to(
    'asks-tool',
    'Its effect may or may not have happened. Its reconcile decides, else onUnknownOutcome. The store does not know these two settings.',
  )
}

function to(resume: CallResume, next: string): Next {
  return { resume, next }
}

function isPast(at: number | undefined, now: number): boolean {
  return at !== undefined && at <= now
}

/** Formats a time in UTC. */
export function timeOf(at: number | undefined): string {
  return at === undefined ? 'an unknown time' : new Date(at).toISOString()
}
