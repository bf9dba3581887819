import { foldDelta } from './fold-deltas.ts'
import { isDelta, isDurable } from './kinds.ts'
import { sumUsage } from './sum-usage.ts'
import type { AgentEvent, DurableEvent, MessageEndEvent } from './types.ts'
import type { RunView, ToolCallView, ViewMessage } from './view.ts'

type Change = { -readonly [Key in keyof RunView]?: RunView[Key] | undefined }

/**
 * The fold of a log. Pure and total: it never throws, and unknown types, repeated numbers and deltas without their open
 * message or call give back the same view. A jump in `seq` sets `gap`.
 */
export function reduceEvents(view: RunView, event: AgentEvent): RunView {
  if (isDelta(event)) return foldDelta(view, event)
  if (!isDurable(event) || event.seq === undefined || event.seq <= view.seq) return view
  const next: Change = { ...view, ...foldDurable(view, event), seq: event.seq }
  if (event.seq > view.seq + 1) next.gap = true
  return withoutAbsent(next)
}

function foldDurable(view: RunView, event: DurableEvent): Change {
  switch (event.type) {
    case 'session-start':
    case 'session-end':
    case 'save-point':
    case 'settled':
      return {}
    case 'run-queued':
      return view.phase === 'idle' && view.pendingToolCalls.length === 0 ? { status: 'queued' } : {}
    case 'user-message':
      return { messages: [...view.messages, event.message] }
    case 'turn-start':
      return {
        phase: 'turn',
        status: 'running',
        runId: event.runId,
        turn: event.turn,
        error: undefined,
        progress: {},
        ...(event.resumed ? {} : { step: 0, usage: {}, pendingToolCalls: [] }),
      }
    case 'step-start':
      return { step: event.step }
    case 'step-end':
      return { messages: withResults(view), progress: {} }
    case 'turn-end':
      return {
        phase: 'idle',
        status: event.status,
        usage: event.usage,
        error: event.error,
        pendingToolCalls: isWaiting(event.status) ? view.pendingToolCalls : [],
      }
    case 'message-start': {
      const { messageId, step, attempt, model } = event
      return { step, open: { messageId, step, attempt, model, blocks: [] } }
    }
    case 'message-end':
      return {
        messages: [...view.messages, event.message],
        open: undefined,
        usage: sumUsage(view.usage, event.message.usage),
        toolCalls: { ...view.toolCalls, ...askedFor(event) },
      }
    case 'message-discarded':
      return {
        messages: view.messages.some((message) => message.id === event.messageId)
          ? view.messages.filter((message) => message.id !== event.messageId)
          : view.messages,
        open: view.open?.messageId === event.messageId ? undefined : view.open,
      }
    case 'usage':
      return { usage: sumUsage(view.usage, event.usage) }
    case 'tool-execution-start': {
      const { toolCallId, toolName, label, input, attempt, at } = event
      const call: ToolCallView = {
        ...{ toolCallId, toolName, input, attempt, startedAt: at, state: 'running' },
        ...(label !== undefined && { label }),
      }
      return { toolCalls: { ...view.toolCalls, [toolCallId]: call } }
    }
    case 'tool-execution-end': {
      const { toolCallId, toolName } = event.message
      const before = view.toolCalls[toolCallId] ?? { toolCallId, toolName, input: {}, attempt: 0 }
      const { message: result, durationMs } = event
      return {
        toolCalls: { ...view.toolCalls, [toolCallId]: { ...before, state: result.status, result, durationMs } },
        progress: without(view.progress, toolCallId),
        pendingToolCalls: view.pendingToolCalls.filter((call) => call.toolCallId !== toolCallId),
      }
    }
    case 'awaiting-tools': {
      const toolCalls: Record<string, ToolCallView> = { ...view.toolCalls }
      for (const { toolCallId, toolName, input } of event.pendingToolCalls) {
        toolCalls[toolCallId] = { ...(toolCalls[toolCallId] ?? { toolCallId, toolName, input, attempt: 0 }), state: 'remote' }
      }
      return { toolCalls, pendingToolCalls: event.pendingToolCalls }
    }
    default: {
      const unknown: never = event
      return unknown
    }
  }
}

function askedFor(event: MessageEndEvent): Record<string, ToolCallView> {
  const calls: Record<string, ToolCallView> = {}
  for (const part of event.message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted) continue
    const { toolCallId, toolName, input } = part
    calls[toolCallId] = { toolCallId, toolName, input, state: 'pending', attempt: 0 }
  }
  return calls
}

/** A step ends when all its calls have their outcome; only then do the results enter the transcript. */
function withResults(view: RunView): readonly ViewMessage[] {
  const answer = view.messages.at(-1)
  if (answer?.role !== 'assistant') return view.messages
  const results = answer.content.flatMap((part) => {
    const result = part.type === 'tool-call' && !part.providerExecuted && view.toolCalls[part.toolCallId]?.result
    return result ? [result] : []
  })
  return results.length > 0 ? [...view.messages, ...results] : view.messages
}

function isWaiting(status: RunView['status']): boolean {
  return status === 'awaiting-tools' || status === 'needs-recovery'
}

function without(record: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  if (!Object.hasOwn(record, key)) return record
  const { [key]: _gone, ...rest } = record
  return rest
}

function withoutAbsent(change: Change): RunView {
  for (const key of ['status', 'runId', 'open', 'error'] as const) if (change[key] === undefined) delete change[key]
  return change as RunView
}
