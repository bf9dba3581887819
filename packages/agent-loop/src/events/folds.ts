import type { JSONValue } from '@bowline/llm'
import type { DurableEvent } from './agent-event.ts'
import type { MessageEndEvent, UsageEvent } from './message-events.ts'
import { outputToolName } from './output.ts'
import { sumCost, sumUsage } from './spending.ts'
import { isEnded, isSuspended, statusOf } from './status.ts'
import type { ChildEndEvent, ChildUpdateEvent, ToolExecutionEndEvent } from './tool-events.ts'
import type { StepEventBase } from './turn-events.ts'
import { toolCallOf } from './view.ts'
import type { ChildView, RunView, ToolCallView } from './view.ts'

/** The changes that an event makes to a view. `undefined` removes the field. */
export type Change = { -readonly [Key in keyof RunView]?: RunView[Key] | undefined }

/** One function per event type: an event type without a fold does not compile. */
type Folds = {
  readonly [Type in DurableEvent['type']]: (view: RunView, event: Extract<DurableEvent, { type: Type }>) => Change
}

const unchanged = (): Change => ({})

/** The changes that each durable event makes to a view. */
export const folds: Folds = {
  // Sessions, runs, turns and steps.
  'session-start': (_view, event) => (event.copied ? { gap: true } : {}),
  'session-end': unchanged,
  'branch-switched': () => ({ gap: true }),
  'orchestration-step': unchanged,
  'save-point': unchanged,
  settled: unchanged,
  error: unchanged,
  'run-queued': (view, { runId }) => (isOpen(view) && view.status !== 'queued' ? {} : { status: 'queued', outcome: undefined, runId }),
  'turn-start': (view, { runId, turn, resumed }) => ({
    phase: 'turn',
    status: 'running',
    outcome: undefined,
    runId,
    turn,
    error: undefined,
    progress: {},
    ...(resumed
      ? // Subagents resume too, and list again what they wait for.
        { pendingToolCalls: view.pendingToolCalls.filter(({ path, background }) => background || path.length === 0) }
      : { step: 0, usage: {}, cost: undefined, retry: undefined, ...questionsOfOthers(view) }),
  }),
  'step-start': (_view, { step }) => ({ step }),
  'turn-end': (view, { runId, status, usage, cost, error }) => {
    if (runId !== view.runId && isOpen(view)) return {}
    return {
      phase: view.phase === 'turn' ? 'idle' : view.phase,
      runId,
      status: statusOf(status),
      outcome: status,
      usage,
      cost,
      error,
      retry: undefined,
      ...(!isSuspended(status) && questionsOfOthers(view)),
    }
  },

  // Messages of the transcript, and their cost.
  'user-message': (view, { message }) => ({ messages: [...view.messages, message] }),
  'runtime-input': (view, { message }) => (message ? { messages: [...view.messages, message] } : {}),
  'message-start': (_view, { messageId, step, attempt, model }) => ({
    step,
    open: { messageId, step, attempt, model, blocks: [] },
    output: undefined,
  }),
  'message-end': (view, event) => {
    const asked = askedFor(event)
    return {
      messages: [...view.messages, event.message],
      open: undefined,
      ...spend(view, event.message),
      output: event.message.output ?? view.output,
      ...(asked.length > 0 && { toolCalls: [...view.toolCalls, ...asked] }),
    }
  },
  'message-discarded': (view, { messageId }) => discard(view, messageId),
  'step-end': () => ({ progress: {} }),
  // The turn does not count the usage of a compaction after it.
  usage: (view, event) => (view.phase === 'compaction' ? {} : spend(view, event)),

  // Calls, the answers that they wait for, and their subagents.
  'tool-execution-start': (view, event) => {
    const { idempotencyKey: _key, effect: _effect, ...call } = factsOf(event)
    return { toolCalls: withCall(view.toolCalls, { ...call, startedAt: event.at, state: 'running' }) }
  },
  'tool-execution-end': endCall,
  'awaiting-tools': (view, { pendingToolCalls: listed, background }) => {
    if (background)
      return {
        pendingToolCalls: [
          ...view.pendingToolCalls.filter((call) => !isAskedBy(call, background)),
          ...listed.map((call) => ({ ...call, background })),
        ],
      }
    const pendingToolCalls = [...listed, ...view.pendingToolCalls.filter((call) => call.background)]
    // Calls with a path belong to child runs, which have ids of their own.
    const own = listed.filter((call) => call.path.length === 0)
    const toolCalls = own.reduce<readonly ToolCallView[]>((calls, { toolCallId, toolName, input }) => {
      return withCall(calls, { toolCallId, toolName, input, attempt: 0, ...toolCallOf({ toolCalls: calls }, toolCallId), state: 'remote' })
    }, view.toolCalls)
    return { toolCalls, pendingToolCalls }
  },
  'approval-requested': (view, event) => ({
    pendingApprovals: [...otherApprovals(view, event), { agent: event.agent ?? [], ...factsOf(event) }],
  }),
  'approval-resolved': (view, event) => ({ pendingApprovals: otherApprovals(view, event) }),
  'child-start': (view, event) => {
    const child: ChildView = { ...factsOf(event), step: 0, status: 'running', toolNames: [] }
    const place = placeOf(view, child)
    return { children: place < 0 ? [...view.children, child] : view.children.with(place, child) }
  },
  'child-update': (view, event) => withChild(view, event, { step: event.step }),
  'child-end': (view, event) => withChild(view, event),

  // Retries and compactions.
  'retry-start': (_view, event) => ({ retry: factsOf(event) }),
  'retry-end': () => ({ retry: undefined }),
  'compaction-start': (view) => (view.phase === 'idle' ? { phase: 'compaction' } : {}),
  'compaction-end': (view, { compaction }) => ({
    ...(view.phase === 'compaction' && { phase: 'idle' }),
    ...(compaction && { compaction }),
  }),
}

/** Keeps the questions of runs in the background: they stay open when the turn ends. */
function questionsOfOthers({ pendingToolCalls, pendingApprovals }: RunView): Pick<RunView, 'pendingToolCalls' | 'pendingApprovals'> {
  return {
    pendingToolCalls: pendingToolCalls.filter((call) => call.background),
    pendingApprovals: pendingApprovals.filter((request) => request.background),
  }
}

/**
 * Returns whether the run of the view has not ended. While it is open, an end of another run belongs to a run that never started.
 */
function isOpen({ phase, status }: RunView): boolean {
  return phase === 'turn' || (status !== undefined && !isEnded(status))
}

function spend(view: RunView, part: Pick<UsageEvent, 'usage' | 'cost'>): Change {
  return { usage: sumUsage(view.usage, part.usage), cost: sumCost(view, part) }
}

function askedFor({ message }: MessageEndEvent): readonly ToolCallView[] {
  return message.content.flatMap((part): ToolCallView[] => {
    if (part.type !== 'tool-call' || part.providerExecuted) return []
    const { toolCallId, toolName, input } = part
    return [{ toolCallId, toolName, input, state: 'pending', attempt: 0 }]
  })
}

/** Removes a withdrawn answer with its calls. The results of the calls are withdrawn separately, by their own ids. */
function discard(view: RunView, messageId: string): Change {
  const { open, messages, toolCalls } = view
  if (open?.messageId === messageId) return { open: undefined, output: undefined }
  const place = messages.findLastIndex((message) => message.id === messageId)
  const message = messages[place]
  if (!message) return {}
  const calls = message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : []
  return {
    messages: messages.toSpliced(place, 1),
    ...(calls.length > 0 && { toolCalls: toolCalls.filter((call) => !calls.includes(call.toolCallId)) }),
  }
}

type Waiting = Pick<RunView['pendingToolCalls'][number], 'toolCallId' | 'path' | 'background'>

/** Compares whole paths: a background run that was launched below another one has a longer path, and its questions are its own. */
function isAskedBy({ background }: Waiting, path: readonly string[]): boolean {
  return background?.length === path.length && path.every((id, place) => background[place] === id)
}

function endCall(view: RunView, { message: result, durationMs }: ToolExecutionEndEvent): Change {
  const { toolCallId, toolName } = result
  const before = toolCallOf(view, toolCallId) ?? { toolCallId, toolName, input: {}, attempt: 0 }
  const waits = (waiting: Waiting): boolean => waiting.background !== undefined || (waiting.path[0] ?? waiting.toolCallId) !== toolCallId
  const toolCalls = withCall(view.toolCalls, { ...before, state: result.status, result, durationMs })
  return {
    toolCalls,
    messages: withResults(view.messages, toolCalls),
    output: (toolName === outputToolName && (result.details as { readonly output?: JSONValue } | undefined)?.output) || view.output,
    progress: without(view.progress, toolCallId),
    pendingToolCalls: view.pendingToolCalls.filter(waits),
    pendingApprovals: view.pendingApprovals.filter(waits),
  }
}

/**
 * Results enter the transcript together, in call order, when the last one has arrived. The calls of the latest answer are the last
 * in the list.
 */
function withResults(messages: RunView['messages'], calls: readonly ToolCallView[]): RunView['messages'] {
  const answer = messages.at(-1)
  if (answer?.role !== 'assistant') return messages
  const asked = answer.content.filter((part) => part.type === 'tool-call' && !part.providerExecuted)
  const results = calls.slice(calls.length - asked.length).flatMap(({ result }) => result ?? [])
  return results.length === asked.length ? [...messages, ...results] : messages
}

function withCall(calls: readonly ToolCallView[], call: ToolCallView): readonly ToolCallView[] {
  const place = calls.findLastIndex((other) => other.toolCallId === call.toolCallId)
  return place < 0 ? [...calls, call] : calls.with(place, call)
}

function otherApprovals(view: RunView, { approvalId }: { readonly approvalId: string }): RunView['pendingApprovals'] {
  return view.pendingApprovals.filter((request) => request.approvalId !== approvalId)
}

/**
 * Returns the fields of an event that do not give its place in the log. The cursor, which readers of a log get, is left out too.
 */
function factsOf<Event extends StepEventBase & { readonly type: string; readonly cursor?: string }>(
  event: Event,
): Omit<Event, keyof StepEventBase | 'type' | 'cursor'> {
  const {
    type: _type,
    at: _at,
    seq: _seq,
    commit: _commit,
    cursor: _cursor,
    runId: _runId,
    turn: _turn,
    step: _step,
    agent: _agent,
    ...facts
  } = event
  return facts
}

type ChildName = Pick<ChildView, 'toolCallId' | 'childRunId'>

function placeOf(view: RunView, { toolCallId, childRunId }: ChildName): number {
  return view.children.findLastIndex((child) => child.toolCallId === toolCallId && child.childRunId === childRunId)
}

function withChild(view: RunView, event: ChildUpdateEvent | ChildEndEvent, step?: Pick<ChildView, 'step'>): Change {
  const { status } = event
  const place = placeOf(view, event)
  const { outcome: _before, ...child } = view.children[place] ?? {}
  const news = { ...factsOf(event), ...step, status: statusOf(status), ...(status !== 'running' && { outcome: status }) }
  return place < 0 ? {} : { children: view.children.with(place, { ...(child as ChildView), ...news }) }
}

function without(record: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  if (!Object.hasOwn(record, key)) return record
  const { [key]: _gone, ...rest } = record
  return rest
}
