import type { AgentEvent, PendingToolCall, ToolResult, TurnStatus } from '@bowline/agent-loop/events'

/** Events of synthetic runs, in the order in which the loop emits them. The log assigns the numbers. */

export type Message = Extract<AgentEvent, { type: 'message-end' }>['message']
type Part = Message['content'][number]

const at = 1_700_000_000_000
const model = { provider: 'test', modelId: 'scripted' }
const usage = { inputTokens: 3, outputTokens: 5, totalTokens: 8 }

export interface RunWords {
  readonly runId: string
  readonly turn: number
}

export function runStart({ runId, turn }: RunWords, text: string): AgentEvent[] {
  const messageId = `${runId}-user`
  return [
    { type: 'run-queued', at, runId, kind: 'user', input: text },
    { type: 'user-message', at, runId, turn, messageId, message: { role: 'user', id: messageId, content: text }, source: 'user' },
    { type: 'turn-start', at, runId, turn, resumed: false, attempt: 1 },
  ]
}

export function textStep({ runId, turn }: RunWords, step: number, pieces: readonly string[]): AgentEvent[] {
  const messageId = `${runId}-answer-${step}`
  const base = { at, runId, turn, step }
  const text = pieces.join('')
  return [
    { type: 'step-start', ...base, contextTokens: 10, model },
    { type: 'message-start', ...base, messageId, attempt: 1, model },
    { type: 'text-start', ...base, messageId, index: 0 },
    ...pieces.map((delta): AgentEvent => ({ type: 'text-delta', ...base, messageId, index: 0, delta })),
    { type: 'text-end', ...base, messageId, index: 0, text },
    { type: 'message-end', ...base, messageId, attempt: 1, message: message(messageId, [{ type: 'text', text }], 'stop') },
    { type: 'step-end', ...base, toolCalls: 0, continues: false },
  ]
}

/** Returns a step that calls remote tools and waits for them. */
export function askStep({ runId, turn }: RunWords, step: number, calls: readonly PendingToolCall[]): AgentEvent[] {
  const messageId = `${runId}-answer-${step}`
  const base = { at, runId, turn, step }
  const parts = calls.map(({ toolCallId, toolName, input }): Part => ({ type: 'tool-call', toolCallId, toolName, input }))
  return [
    { type: 'step-start', ...base, contextTokens: 10, model },
    { type: 'message-start', ...base, messageId, attempt: 1, model },
    { type: 'message-end', ...base, messageId, attempt: 1, message: message(messageId, parts, 'tool-calls') },
    { type: 'awaiting-tools', ...base, pendingToolCalls: calls },
    ...runEnd({ runId, turn }, 'awaiting-tools'),
  ]
}

/** Returns the segment that answers cause: their outcomes and the rest of the run. */
export function answeredSegment(run: RunWords, step: number, outcomes: readonly ToolResult[], pieces: readonly string[]): AgentEvent[] {
  const { runId, turn } = run
  return [
    { type: 'turn-start', at, runId, turn, resumed: true, attempt: 1, cause: 'answers' },
    ...outcomes.map((outcome): AgentEvent => {
      const base = { at, runId, turn, step }
      return { type: 'tool-execution-end', ...base, toolCallId: outcome.toolCallId, executed: 'elsewhere', message: outcome, durationMs: 0 }
    }),
    { type: 'step-end', at, runId, turn, step, toolCalls: outcomes.length, continues: true },
    ...textStep(run, step + 1, pieces),
    ...runEnd(run, 'completed'),
  ]
}

export function runEnd({ runId, turn }: RunWords, status: TurnStatus): AgentEvent[] {
  const reason = status === 'completed' ? 'stop' : status === 'awaiting-tools' ? 'pending' : 'abort'
  const end: AgentEvent = { type: 'turn-end', at, runId, turn, status, reason, usage, steps: 1, overlaysExpired: 0 }
  const save: AgentEvent = { type: 'save-point', at, runId, turn }
  return status === 'awaiting-tools' ? [end, save] : [end, save, { type: 'settled', at, runId, turn }]
}

/** Returns a complete run that answers with text. */
export function textRun(run: RunWords, input: string, pieces: readonly string[]): AgentEvent[] {
  return [...runStart(run, input), ...textStep(run, 1, pieces), ...runEnd(run, 'completed')]
}

export function pendingCall(toolCallId: string, toolName: string, input: PendingToolCall['input'] = {}): PendingToolCall {
  return { toolCallId, toolName, input, path: [], agent: [] }
}

export function resultOf(call: PendingToolCall, value: string, index = 0): ToolResult {
  const { toolCallId, toolName } = call
  const output = { type: 'text', value } as const
  return { role: 'tool-result', id: `result-${toolCallId}`, toolCallId, toolName, output, at, status: 'result', index }
}

function message(id: string, content: readonly Part[], stopReason: Message['stopReason']): Message {
  return { role: 'assistant', id, content, ...model, stopReason, usage, at, timing: { totalMs: 1 } }
}
