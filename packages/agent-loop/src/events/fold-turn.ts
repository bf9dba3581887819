import type { DurableEvent } from './agent-event.ts'
import type { MessageEndEvent, UsageEvent } from './message-events.ts'
import { sumCost, sumUsage } from './spending.ts'
import { isEnded, isSuspended, statusOf } from './status.ts'
import type { RunView, ToolCallView } from './view.ts'

/** What an event changes in a view. An `undefined` takes the field away. */
export type Change = { -readonly [Key in keyof RunView]?: RunView[Key] | undefined }

/** One function per event type: a type without its fold does not compile. */
export type Folds<Type extends DurableEvent['type']> = {
  readonly [Each in Type]: (view: RunView, event: Extract<DurableEvent, { type: Each }>) => Change
}

const unchanged = (): Change => ({})

/** Sessions, runs, turns and steps. */
export const foldTurn: Folds<
  | ('session-start' | 'session-end' | 'run-queued' | 'branch-switched' | 'orchestration-step')
  | ('turn-start' | 'turn-end' | 'step-start' | 'save-point' | 'settled' | 'error')
> = {
  'session-start': (_view, event) => (event.copied ? { gap: true } : {}),
  'session-end': unchanged,
  'branch-switched': () => ({ gap: true }),
  'orchestration-step': unchanged,
  'save-point': unchanged,
  settled: unchanged,
  error: unchanged,
  'run-queued': (view, { runId }) => (isOpen(view) && view.status !== 'queued' ? {} : { status: 'queued', outcome: undefined, runId }),
  'turn-start': (view, { runId, turn, resumed }) => ({
    ...{ phase: 'turn', status: 'running', outcome: undefined, runId, turn, error: undefined, progress: {} },
    ...(resumed
      ? // Children go on: what they wait for then is listed anew.
        { pendingToolCalls: view.pendingToolCalls.filter(({ path, background }) => background || path.length === 0) }
      : { step: 0, usage: {}, cost: undefined, retry: undefined, ...questionsOfOthers(view) }),
  }),
  'step-start': (_view, { step }) => ({ step }),
  'turn-end': (view, { runId, status, usage, cost, error }) => {
    if (runId !== view.runId && isOpen(view)) return {}
    return {
      ...{ phase: view.phase === 'turn' ? 'idle' : view.phase, runId, status: statusOf(status), outcome: status, usage, cost, error, retry: undefined },
      ...(!isSuspended(status) && questionsOfOthers(view)),
    }
  },
}

/** What runs in the background ask goes on being asked. */
function questionsOfOthers({ pendingToolCalls, pendingApprovals }: RunView): Pick<RunView, 'pendingToolCalls' | 'pendingApprovals'> {
  return { pendingToolCalls: pendingToolCalls.filter((call) => call.background), pendingApprovals: pendingApprovals.filter((request) => request.background) }
}

/** The end of another run is then that of one that never started. */
function isOpen({ phase, status }: RunView): boolean {
  return phase === 'turn' || (status !== undefined && !isEnded(status))
}

/** What makes the transcript, and what it cost. */
export const foldMessage: Folds<
  'user-message' | 'runtime-input' | 'message-start' | 'message-end' | 'message-discarded' | 'step-end' | 'usage'
> = {
  'user-message': (view, { message }) => ({ messages: [...view.messages, message] }),
  'runtime-input': (view, { message }) => (message ? { messages: [...view.messages, message] } : {}),
  'message-start': (_view, { messageId, step, attempt, model }) => ({ step, open: { messageId, step, attempt, model, blocks: [] } }),
  'message-end': (view, event) => {
    const asked = askedFor(event)
    return {
      messages: [...view.messages, event.message],
      open: undefined,
      ...spend(view, event.message),
      ...(asked.length > 0 && { toolCalls: [...view.toolCalls, ...asked] }),
    }
  },
  'message-discarded': (view, { messageId }) => discard(view, messageId),
  'step-end': () => ({ progress: {} }),
  // What a compaction behind the turn costs is not the turn's.
  usage: (view, event) => (view.phase === 'compaction' ? {} : spend(view, event)),
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

/** Of an answer that is withdrawn the calls go too; their results are withdrawn by ids of their own. */
function discard(view: RunView, messageId: string): Change {
  const { open, messages, toolCalls } = view
  if (open?.messageId === messageId) return { open: undefined }
  const place = messages.findLastIndex((message) => message.id === messageId)
  const message = messages[place]
  if (!message) return {}
  const calls = message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : []
  return {
    messages: messages.toSpliced(place, 1),
    ...(calls.length > 0 && { toolCalls: toolCalls.filter((call) => !calls.includes(call.toolCallId)) }),
  }
}

/** Retries and compactions. */
export const foldContext: Folds<'retry-start' | 'retry-end' | 'compaction-start' | 'compaction-end'> = {
  'retry-start': (_view, { attempt, maxAttempts, delayMs, notBefore, cause, model, error }) => ({
    retry: { attempt, maxAttempts, delayMs, notBefore, cause, error, ...(model && { model }) },
  }),
  'retry-end': () => ({ retry: undefined }),
  'compaction-start': (view) => (view.phase === 'idle' ? { phase: 'compaction' } : {}),
  'compaction-end': (view, { compaction }) => ({
    ...(view.phase === 'compaction' && { phase: 'idle' }),
    ...(compaction && { compaction }),
  }),
}
