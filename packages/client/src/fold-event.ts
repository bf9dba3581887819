import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { RunView, ToolCallView } from '@bowline/agent-loop/events'
import { isFields } from '@bowline/llm/arguments'
import { inputChecks } from './arguments.ts'
import type { ClientEvent } from './client-event.ts'
import { positionOf } from './cursor.ts'
import type { SessionView } from './wire-sessions.ts'

const { checkRequired } = inputChecks

/** `reduceEvents` for what a client reads: an unknown event folds as nothing, a resync replaces the fold. */
export function foldEvent(view: RunView, event: ClientEvent): RunView {
  checkRequired('view', view, 'a view: begin with emptyView', isView)
  checkRequired('event', event, 'an event', isEvent)
  if (event.type === 'unknown') return view
  return event.type === 'resync' ? viewOf(event.state) : reduceEvents(view, event)
}

function isView(view: unknown): boolean {
  return isFields(view) && 'seq' in view && Array.isArray(view['messages'])
}

function isEvent(event: unknown): boolean {
  return isFields(event) && typeof event['type'] === 'string' && (event['type'] !== 'resync' || isState(event['state']))
}

function isState(state: unknown): boolean {
  return isFields(state) && typeof state['cursor'] === 'string' && Array.isArray(state['messages']) && Array.isArray(state['pendingToolCalls'])
}

/** The view to go on from when the events before it are out of reach. */
export function viewOf(state: SessionView): RunView {
  const { run, status, messages, pendingToolCalls, pendingApprovals, usage } = state
  const outcome = run ? run.outcome : state.outcome
  return {
    ...emptyView,
    seq: positionOf(state.cursor)?.seq ?? 0,
    phase: outcome || !run || status === 'queued' ? 'idle' : 'turn',
    ...(status && { status }),
    ...(outcome && { outcome }),
    ...(run && { runId: run.runId }),
    messages,
    toolCalls: toolCallsOf(state),
    pendingToolCalls,
    pendingApprovals,
    usage,
  }
}

function toolCallsOf({ messages, pendingToolCalls }: SessionView): readonly ToolCallView[] {
  const calls = new Map<string, ToolCallView>()
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const part of message.content) {
        if (part.type !== 'tool-call' || part.providerExecuted) continue
        const { toolCallId, toolName, input } = part
        calls.set(toolCallId, { toolCallId, toolName, input, state: 'pending', attempt: 0 })
      }
    } else if (message.role === 'tool-result') {
      const call = calls.get(message.toolCallId)
      if (call) calls.set(message.toolCallId, { ...call, state: message.status, result: message })
    }
  }
  for (const { toolCallId, toolName, input, path } of pendingToolCalls) {
    // Those with a path are calls of child runs.
    if (path.length === 0) calls.set(toolCallId, { toolCallId, toolName, input, state: 'remote', attempt: 0 })
  }
  return [...calls.values()]
}
