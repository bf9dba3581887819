import { isSuspended } from '@bowline/agent-loop'
import type { AgentEvent } from '@bowline/agent-loop'
import type { LoggedEvent } from '@bowline/sessions'
import { dataChunk } from './data-chunks.ts'
import { heldRunChunk, isFailure } from './ending-chunks.ts'
import { MessageChunks } from './message-chunks.ts'
import { outcomeChunks } from './part-chunks.ts'
import { noChunks, type Chunks, type UiChunk } from './ui-chunk.ts'

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>
type Table = { readonly [Type in Exclude<AgentEvent['type'], 'message-end'>]: (turn: TurnState, event: EventOf<Type>) => Chunks }

/** State of the message after the chunks so far. */
interface TurnState {
  /** True if the user message is not in the conversation: the run has not begun, or the message was withdrawn. */
  isUnread: boolean
  /** Id of the stored user message. */
  inputEntry: string | undefined
  /** Message of the current step. */
  message: MessageChunks | undefined
  /** Ids of the answers of previous steps. */
  readonly earlier: Set<string>
  /** Ids of the calls in the message. */
  readonly calls: Set<string>
  /** Decisions about calls. An approval is removed when the call waits for its result. */
  readonly decisions: Map<string, 'approve' | 'deny'>
}

export interface TurnName {
  readonly sessionId: string
  /** Id of the message. One message is one turn with all its steps and segments. */
  readonly runId: string
}

/** Converts the events of a turn to the chunks of one AI SDK message. */
export class TurnChunks {
  readonly #name: TurnName
  readonly #state: TurnState = {
    isUnread: false,
    inputEntry: undefined,
    message: undefined,
    earlier: new Set(),
    calls: new Set(),
    decisions: new Map(),
  }

  constructor(name: TurnName) {
    this.#name = name
  }

  /** First chunk of every stream, whether it begins or resumes the message. */
  get start(): UiChunk {
    const { sessionId, runId } = this.#name
    return { type: 'start', messageId: runId, messageMetadata: { sessionId, runId } }
  }

  /** Returns chunks by part of the message. Only `message-end` completes several parts; other events give one. */
  push(event: LoggedEvent): readonly Chunks[] {
    if (event.type === 'message-end') return this.#completeMessage(event)
    // Events of later versions are ignored.
    if (!Object.hasOwn(table, event.type)) return []
    return [(table[event.type] as (turn: TurnState, event: AgentEvent) => Chunks)(this.#state, event)]
  }

  #completeMessage({ messageId, message: answer }: EventOf<'message-end'>): readonly Chunks[] {
    const { message } = this.#state
    return message?.messageId === messageId ? message.complete(answer) : []
  }
}

const nothing = (): Chunks => noChunks
const asData = (_turn: TurnState, event: AgentEvent): Chunks => [dataChunk(event)]
/** The rest of a block comes with the complete message. */
const asDelta = (turn: TurnState, event: Parameters<MessageChunks['push']>[0]): Chunks =>
  turn.message?.messageId === event.messageId && !('catchUp' in event) ? turn.message.push(event) : noChunks

const table: Table = {
  'turn-start': nothing,
  'step-start': (turn) => {
    if (turn.message) turn.earlier.add(turn.message.messageId)
    turn.message = undefined
    return [{ type: 'start-step' }]
  },
  'step-end': () => [{ type: 'finish-step' }],
  'turn-end': endTurn,

  'message-start': (turn, { messageId }) => {
    turn.message = new MessageChunks(messageId, turn.calls)
    return noChunks
  },
  'message-discarded': discard,
  'text-start': asDelta,
  'text-delta': asDelta,
  'text-end': asDelta,
  'reasoning-start': asDelta,
  'reasoning-delta': asDelta,
  'reasoning-end': asDelta,
  'tool-call-start': asDelta,
  'tool-call-delta': asDelta,
  'tool-call-end': asDelta,
  'content-part': asDelta,
  'output-delta': (_turn, { patch }) => [{ type: 'data-output-delta', transient: true, data: { patch } }],

  'tool-execution-start': nothing,
  'tool-execution-delta': (_turn, { toolCallId, delta, replace }) => [
    { type: 'data-tool-progress', transient: true, data: { toolCallId, delta, ...(replace && { replace }) } },
  ],
  'tool-execution-end': (turn, event) =>
    turn.calls.has(event.toolCallId) ? outcomeChunks(event, turn.decisions.get(event.toolCallId) === 'deny') : noChunks,
  'awaiting-tools': awaitTools,
  'approval-requested': (turn, event) => {
    const { toolCallId, approvalId, reason } = event
    if (!turn.calls.has(toolCallId)) return [dataChunk(event)]
    return [{ type: 'tool-approval-request', toolCallId, approvalId, ...(reason !== undefined && { reason }) }]
  },
  'approval-resolved': (turn, event) => {
    const { toolCallId, approvalId, decision, reason } = event
    if (!turn.calls.has(toolCallId)) return [dataChunk(event)]
    // If the question is cancelled, the outcome of the call says so.
    if (decision === 'cancelled') return noChunks
    turn.decisions.set(toolCallId, decision)
    return [{ type: 'tool-approval-response', approvalId, approved: decision === 'approve', ...(reason !== undefined && { reason }) }]
  },

  'runtime-input': asData,
  'child-start': asData,
  'child-update': asData,
  'child-end': asData,
  usage: asData,
  'compaction-start': asData,
  'compaction-end': asData,
  'retry-start': asData,
  'retry-end': asData,
  'orchestration-step': asData,

  'session-start': nothing,
  'session-end': nothing,
  'run-queued': (turn, { input }) => {
    turn.isUnread = input !== null
    return noChunks
  },
  'branch-switched': nothing,
  'user-message': (turn, { messageId }) => {
    turn.isUnread = false
    turn.inputEntry = messageId
    return noChunks
  },
  'save-point': nothing,
  settled: nothing,
  error: (_turn, { source, runId, agent, message }) =>
    source === 'definition' && agent ? [heldRunChunk({ runId, agent, message })] : noChunks,
}

/**
 * Offers an approved call again if the page has to run it: until now the message says that the call waits for the server. Calls of
 * a subagent are answered by their path, which a message cannot do. They are only reported.
 */
function awaitTools({ decisions }: TurnState, event: EventOf<'awaiting-tools'>): Chunks {
  const approved = event.pendingToolCalls.filter(({ path, toolCallId }) => path.length === 0 && decisions.delete(toolCallId))
  const chunks = approved.map(({ toolCallId, toolName, input }): UiChunk => ({ type: 'tool-input-available', toolCallId, toolName, input }))
  return event.pendingToolCalls.some(({ path }) => path.length > 0) ? [...chunks, dataChunk(event)] : chunks
}

/** Lets the page drop the step. If the step is over, the event is only reported: a message cannot take it back. */
function discard(turn: TurnState, event: EventOf<'message-discarded'>): Chunks {
  const { message, earlier, inputEntry } = turn
  turn.isUnread ||= event.messageId === inputEntry
  if (message?.messageId === event.messageId) {
    message.asksForTools = false
    return [{ type: 'reset-step' }]
  }
  return earlier.has(event.messageId) ? [dataChunk(event)] : noChunks
}

/** Returns the chunks that the turn leaves in the message. The outcome of its stream is sent at the end of the stream. */
function endTurn(turn: TurnState, event: EventOf<'turn-end'>): Chunks {
  const { runId, status, reason, usage, cost, error, receipt = [] } = event
  const chunks: UiChunk[] = []
  // A new step keeps pages that resend complete calls from resending the calls of a turn that is over.
  if (!isSuspended(event.status) && turn.message?.asksForTools) chunks.push({ type: 'start-step' }, { type: 'finish-step' })
  chunks.push({ type: 'data-usage', id: runId, data: { purpose: 'turn', usage, ...(cost && { cost }) } })
  if (status === 'aborted') chunks.push({ type: 'data-stopped', data: { runId, calls: receipt } })
  if (isFailure(event)) chunks.push({ type: 'data-error', data: { status, reason, ...(error && { error }) } })
  // If a hook completed the turn without the model, the message was still used.
  if (turn.isUnread && status !== 'completed') chunks.push({ type: 'data-withdrawn', data: { runId } })
  return chunks
}
