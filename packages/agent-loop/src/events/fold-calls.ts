import type { Change, Folds } from './fold-turn.ts'
import { statusOf } from './status.ts'
import type { ApprovalRequestedEvent, ChildEndEvent, ChildUpdateEvent, ToolExecutionEndEvent } from './tool-events.ts'
import type { ChildView, RunView, ToolCallView } from './view.ts'

/** Calls, what they wait for, and what they hand to others. */
export const foldCall: Folds<
  | ('tool-execution-start' | 'tool-execution-end' | 'awaiting-tools' | 'approval-requested' | 'approval-resolved')
  | ('child-start' | 'child-update' | 'child-end')
> = {
  'tool-execution-start': (view, { toolCallId, toolName, label, input, attempt, at }) => ({
    toolCalls: withCall(view.toolCalls, {
      ...{ toolCallId, toolName, input, attempt, startedAt: at, state: 'running' },
      ...(label !== undefined && { label }),
    }),
  }),
  'tool-execution-end': endCall,
  'awaiting-tools': (view, { pendingToolCalls: listed, background }) => {
    if (background) return { pendingToolCalls: [...view.pendingToolCalls.filter((call) => !isAskedBy(call, background)), ...listed.map((call) => ({ ...call, background }))] }
    const pendingToolCalls = [...listed, ...view.pendingToolCalls.filter((call) => call.background)]
    // Those with a path are calls of child runs, whose ids are their own.
    const own = listed.filter((call) => call.path.length === 0)
    const toolCalls = own.reduce<readonly ToolCallView[]>((calls, { toolCallId, toolName, input }) => {
      return withCall(calls, { toolCallId, toolName, input, attempt: 0, ...find(calls, toolCallId), state: 'remote' })
    }, view.toolCalls)
    return { toolCalls, pendingToolCalls }
  },
  'approval-requested': (view, event) => ({ pendingApprovals: [...otherApprovals(view, event), requestOf(event)] }),
  'approval-resolved': (view, event) => ({ pendingApprovals: otherApprovals(view, event) }),
  'child-start': (view, { toolCallId, childRunId, subagent, description, taskId }) => {
    const child: ChildView = {
      ...{ toolCallId, childRunId, subagent, step: 0, status: 'running', toolNames: [] },
      ...(description !== undefined && { description }),
      ...(taskId !== undefined && { taskId }),
    }
    const place = placeOf(view, child)
    return { children: place < 0 ? [...view.children, child] : view.children.with(place, child) }
  },
  'child-update': (view, event) => {
    const { step, text, toolNames } = event
    return withChild(view, event, { step, ...standing(event), toolNames, ...(text !== undefined && { text }) })
  },
  'child-end': (view, event) => {
    const { usage, cost, error } = event
    return withChild(view, event, { ...standing(event), usage, ...(cost && { cost }), ...(error && { error }) })
  },
}

function standing({ status }: ChildUpdateEvent | ChildEndEvent): Pick<ChildView, 'status' | 'outcome'> {
  return { status: statusOf(status), ...(status !== 'running' && { outcome: status }) }
}

type Waiting = Pick<RunView['pendingToolCalls'][number], 'toolCallId' | 'path' | 'background'>

/** A background run launched below another has a longer path: what it asks is its own. */
function isAskedBy({ background }: Waiting, path: readonly string[]): boolean {
  return background?.length === path.length && path.every((id, place) => background[place] === id)
}

function endCall(view: RunView, { message: result, durationMs }: ToolExecutionEndEvent): Change {
  const { toolCallId, toolName } = result
  const before = find(view.toolCalls, toolCallId) ?? { toolCallId, toolName, input: {}, attempt: 0 }
  const waits = (waiting: Waiting): boolean => waiting.background !== undefined || (waiting.path[0] ?? waiting.toolCallId) !== toolCallId
  const toolCalls = withCall(view.toolCalls, { ...before, state: result.status, result, durationMs })
  return {
    ...{ toolCalls, messages: withResults(view.messages, toolCalls) },
    progress: without(view.progress, toolCallId),
    pendingToolCalls: view.pendingToolCalls.filter(waits),
    pendingApprovals: view.pendingApprovals.filter(waits),
  }
}

/** Results enter the transcript together, in call order, with the last of them. The calls of the latest answer stand last. */
function withResults(messages: RunView['messages'], calls: readonly ToolCallView[]): RunView['messages'] {
  const answer = messages.at(-1)
  if (answer?.role !== 'assistant') return messages
  const asked = answer.content.filter((part) => part.type === 'tool-call' && !part.providerExecuted)
  const results = calls.slice(calls.length - asked.length).flatMap(({ result }) => result ?? [])
  return results.length === asked.length ? [...messages, ...results] : messages
}

function find(calls: readonly ToolCallView[], toolCallId: string): ToolCallView | undefined {
  return calls.findLast((call) => call.toolCallId === toolCallId)
}

function withCall(calls: readonly ToolCallView[], call: ToolCallView): readonly ToolCallView[] {
  const place = calls.findLastIndex((other) => other.toolCallId === call.toolCallId)
  return place < 0 ? [...calls, call] : calls.with(place, call)
}

function otherApprovals(view: RunView, { approvalId }: { readonly approvalId: string }): RunView['pendingApprovals'] {
  return view.pendingApprovals.filter((request) => request.approvalId !== approvalId)
}

function requestOf(event: ApprovalRequestedEvent): RunView['pendingApprovals'][number] {
  const { approvalId, toolCallId, toolName, input, inputHash, reason, path, agent = [], deadlineAt, background } = event
  return {
    ...{ approvalId, toolCallId, toolName, input, inputHash, path, agent },
    ...(reason !== undefined && { reason }),
    ...(deadlineAt !== undefined && { deadlineAt }),
    ...(background && { background }),
  }
}

type ChildName = Pick<ChildView, 'toolCallId' | 'childRunId'>

function placeOf(view: RunView, { toolCallId, childRunId }: ChildName): number {
  return view.children.findLastIndex((child) => child.toolCallId === toolCallId && child.childRunId === childRunId)
}

function withChild(view: RunView, event: ChildUpdateEvent | ChildEndEvent, news: Partial<ChildView>): Change {
  const place = placeOf(view, event)
  const { outcome: _before, ...child } = view.children[place] ?? {}
  return place < 0 ? {} : { children: view.children.with(place, { ...(child as ChildView), ...news }) }
}

function without(record: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  if (!Object.hasOwn(record, key)) return record
  const { [key]: _gone, ...rest } = record
  return rest
}
