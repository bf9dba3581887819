import type { AgentEvent, DeltaEvent } from '../../src/events/agent-event.ts'

const base = { at: 0, runId: 'r', turn: 1, step: 1 } as const

/** Returns a piece of a message's text. */
export function textDelta(messageId: string, delta = 'x'): DeltaEvent {
  return { ...base, type: 'text-delta', messageId, index: 0, delta }
}

/** Returns a piece of a call's output. */
export function toolDelta(toolCallId: string, delta = 'x'): DeltaEvent {
  return { ...base, type: 'tool-execution-delta', toolCallId, delta }
}

/** Returns a durable event that ends nothing. */
export function savePoint(seq: number): AgentEvent {
  return { ...base, type: 'save-point', seq }
}

/** Returns an event that ends a message. */
export function discarded(messageId: string, seq: number): AgentEvent {
  return { ...base, type: 'message-discarded', messageId, reason: 'crash', seq }
}

/** Returns an event that ends a call. */
export function toolEnd(toolCallId: string, seq: number): AgentEvent {
  const output = { type: 'text', value: '' } as const
  const message = { role: 'tool-result', id: 'm', toolCallId, toolName: 't', output, at: 0, status: 'result', index: 0 } as const
  return { ...base, type: 'tool-execution-end', toolCallId, executed: 'here', message, durationMs: 0, seq }
}
