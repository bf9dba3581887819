import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { AgentEvent, RunView } from '@bowline/agent-loop/events'
import { isFields } from '@bowline/llm/arguments'
import { inputChecks } from './arguments.ts'
import type { ClientEvent } from './client-event.ts'
import { positionOf } from './cursor.ts'
import type { SessionView } from './wire-sessions.ts'

const { checkRequired } = inputChecks

/**
 * Returns the view after one event, as `reduceEvents` does, for all events of a client. An unknown event changes nothing; a resync
 * replaces the view.
 */
export function foldEvent(view: RunView, event: ClientEvent): RunView {
  checkRequired('view', view, 'a view: start with emptyView', isView)
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
  return (
    isFields(state) && typeof state['cursor'] === 'string' && Array.isArray(state['messages']) && Array.isArray(state['pendingToolCalls'])
  )
}

/** Returns the view from which a fold continues if earlier events are no longer available. */
export function viewOf(state: SessionView): RunView {
  const { run, status, messages, pendingToolCalls, pendingApprovals, usage } = state
  const { toolCalls, output } = toldBy(state)
  const outcome = run ? run.outcome : state.outcome
  return {
    ...emptyView,
    seq: positionOf(state.cursor)?.seq ?? 0,
    phase: outcome || !run || status === 'queued' ? 'idle' : 'turn',
    ...(status && { status }),
    ...(outcome && { outcome }),
    ...(run && { runId: run.runId }),
    messages,
    toolCalls,
    ...(output && { output }),
    pendingToolCalls,
    pendingApprovals,
    usage,
  }
}

/**
 * Folds the calls and the output that these messages and questions describe. It leaves the messages out: collecting them would copy
 * all of them each time.
 */
function toldBy({ messages, pendingToolCalls }: SessionView): RunView {
  let view = emptyView
  const tell = (event: object): void => void (view = reduceEvents({ ...view, messages: [] }, { ...event, seq: view.seq + 1 } as AgentEvent))
  for (const message of messages) {
    const { role } = message
    if (role === 'assistant') tell({ type: 'message-start' })
    if (role !== 'user') tell({ type: role === 'assistant' ? 'message-end' : 'tool-execution-end', message })
  }
  tell({ type: 'awaiting-tools', pendingToolCalls })
  return view
}
