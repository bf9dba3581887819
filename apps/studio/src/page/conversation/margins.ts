import { isDelta, isSuspended } from '@bowline/agent-loop/events'
import type { AgentEvent, CallReceipt, Compaction, RetryStartEvent, TurnEndEvent, TurnStatus } from '@bowline/agent-loop/events'

/** Notes that the conversation shows next to its messages. Built only from events, so that a reload shows the same. */
export interface Margins {
  /** Outcomes of turns that were not simply completed, by the id of their last message. */
  readonly notes: Readonly<Record<string, TurnNote>>
  /** Failed attempts and their retries, by the id of the message to answer. */
  readonly retries: Readonly<Record<string, readonly Retry[]>>
  /** Inputs accepted as their own runs that have not started, oldest first. */
  readonly queued: readonly QueuedInput[]
  /** Inputs whose run ended before it started, by the id of the previous message, or '' if there is none. */
  readonly withdrawn: Readonly<Record<string, readonly string[]>>
  /** Compactions, by the id of the message that was the last one. */
  readonly compactions: Readonly<Record<string, readonly Compaction[]>>
  /** Ids of messages that no user wrote: they report background work or a mistake in an answer. */
  readonly notices: readonly string[]
  /** Ids of messages that were added to a running turn. */
  readonly steered: readonly string[]
  /** Inputs of the user in the order of the log. */
  readonly inputs: readonly LoggedInput[]
  readonly lastSeq: number
  readonly lastMessageId?: string
  /** Running subagents: the parent run by child run. */
  readonly atWork: Readonly<Record<string, string>>
  /** Key in `retries` of the retry that has not ended. */
  readonly openRetry?: string
}

export interface TurnNote {
  readonly status: Exclude<TurnStatus, 'completed'>
  readonly reason: string
  readonly receipt?: readonly CallReceipt[]
  /** Runs of the subagents that were running at the end. */
  readonly agents: readonly string[]
  readonly error?: NonNullable<TurnEndEvent['error']>
}

export interface Retry extends Pick<RetryStartEvent, 'attempt' | 'maxAttempts' | 'delayMs' | 'notBefore' | 'cause' | 'model' | 'error'> {
  readonly state: 'announced' | 'under-way' | 'answered' | 'failed'
}

export interface QueuedInput {
  readonly runId: string
  readonly text: string
}

export interface LoggedInput {
  readonly seq: number
  readonly text: string
}

export const emptyMargins: Margins = {
  notes: {},
  retries: {},
  queued: [],
  withdrawn: {},
  compactions: {},
  notices: [],
  steered: [],
  inputs: [],
  atWork: {},
  lastSeq: 0,
}

export function foldMargins(margins: Margins, event: AgentEvent): Margins {
  if (isDelta(event) || event.seq === undefined || event.seq <= margins.lastSeq) return margins
  return { ...margins, ...change(margins, event, event.seq), lastSeq: event.seq }
}

function change(margins: Margins, event: AgentEvent, seq: number): Partial<Margins> {
  switch (event.type) {
    case 'run-queued':
      return queued(margins, event, seq)
    case 'user-message':
      return {
        lastMessageId: event.messageId,
        ...started(margins, event.runId),
        ...(event.source === 'notification' && { notices: [...margins.notices, event.messageId] }),
      }
    case 'runtime-input':
      return steering(margins, event, seq)
    case 'turn-start':
      return started(margins, event.runId)
    case 'turn-end':
      return ended(margins, event)
    case 'message-start':
      return retried(margins, 'under-way')
    case 'message-end':
      return { lastMessageId: event.messageId }
    case 'compaction-end':
      return event.compaction ? compacted(margins, event.compaction) : {}
    case 'child-start':
      return { atWork: { ...margins.atWork, [event.childRunId]: event.runId } }
    case 'child-end':
      return event.status === 'aborted' ? {} : withoutAgent(margins, event.childRunId)
    case 'retry-start':
      return announced(margins, event)
    case 'retry-end':
      return retried(margins, event.success ? 'answered' : 'failed')
    default:
      return {}
  }
}

function queued(margins: Margins, { runId, input }: Extract<AgentEvent, { type: 'run-queued' }>, seq: number): Partial<Margins> {
  const text = textOf(input)
  return text === undefined ? {} : { queued: [...margins.queued, { runId, text }], inputs: [...margins.inputs, { seq, text }] }
}

/** Returns the text of an input that this page has sent. */
function textOf(input: unknown): string | undefined {
  const content = typeof input === 'object' && input !== null && 'content' in input ? input.content : input
  return typeof content === 'string' ? content : undefined
}

function started({ queued }: Margins, runId: string): Partial<Margins> {
  return queued.some((input) => input.runId === runId) ? { queued: queued.filter((input) => input.runId !== runId) } : {}
}

function steering(margins: Margins, { message, source }: Extract<AgentEvent, { type: 'runtime-input' }>, seq: number): Partial<Margins> {
  if (message?.id === undefined) return {}
  if (source !== 'steer') return { lastMessageId: message.id, notices: [...margins.notices, message.id] }
  const inputs = [...margins.inputs, { seq, text: textOf(message) ?? '' }]
  return { lastMessageId: message.id, steered: [...margins.steered, message.id], inputs }
}

function ended(margins: Margins, event: TurnEndEvent): Partial<Margins> {
  const { queued, withdrawn, lastMessageId = '' } = margins
  const unread = queued.find((input) => input.runId === event.runId)
  if (!unread) return note(margins, event)
  return {
    ...started(margins, event.runId),
    withdrawn: { ...withdrawn, [lastMessageId]: [...(withdrawn[lastMessageId] ?? []), unread.text] },
    // The stop concerns only the input: the message before it may be complete.
    ...(event.status !== 'aborted' && note(margins, event)),
  }
}

function withoutAgent({ atWork }: Margins, childRunId: string): Partial<Margins> {
  const { [childRunId]: _gone, ...others } = atWork
  return { atWork: others }
}

function note({ notes, lastMessageId, atWork }: Margins, event: TurnEndEvent): Partial<Margins> {
  const { status, reason, receipt, error } = event
  if (status === 'completed' || isSuspended(status)) return {}
  if (lastMessageId === undefined) return {}
  const agents = Object.keys(atWork).filter((childRunId) => atWork[childRunId] === event.runId)
  const ended: TurnNote = { status, reason, agents, ...(receipt && { receipt }), ...(error && { error }) }
  return { notes: { ...notes, [lastMessageId]: ended } }
}

function compacted({ compactions, lastMessageId = '' }: Margins, compaction: Compaction): Partial<Margins> {
  return { compactions: { ...compactions, [lastMessageId]: [...(compactions[lastMessageId] ?? []), compaction] } }
}

function announced({ retries, lastMessageId = '' }: Margins, event: RetryStartEvent): Partial<Margins> {
  const { attempt, maxAttempts, delayMs, notBefore, cause, model, error } = event
  const retry: Retry = { attempt, maxAttempts, delayMs, notBefore, cause, ...(model && { model }), error, state: 'announced' }
  return { retries: { ...retries, [lastMessageId]: [...(retries[lastMessageId] ?? []), retry] }, openRetry: lastMessageId }
}

/** Sets the outcome of the open retry, if there is one. The retry ends after its message. */
function retried({ retries, openRetry = '' }: Margins, state: Retry['state']): Partial<Margins> {
  const list = retries[openRetry]
  const last = list?.at(-1)
  if (!list || last?.state === 'answered' || last?.state === 'failed' || !last) return {}
  return { retries: { ...retries, [openRetry]: list.with(-1, { ...last, state }) } }
}
