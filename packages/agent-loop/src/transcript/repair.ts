import type { AssistantMessage, AssistantPart, Message, ToolCallPart, ToolResultMessage } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { AgentError } from '../base/agent-error.ts'
import { clientCalls, neverRan } from '../base/messages.ts'
import type { ToolResult } from '../events/tool-events.ts'
import { idGiver } from './guard.ts'
import { readMessage } from './read-message.ts'
import type { TranscriptRepairCode } from './read-message.ts'

/** One change that `repairTranscript` made. */
export interface TranscriptRepair {
  readonly code: TranscriptRepairCode
  /** Index in the given list; for a missing result, the index of its answer. */
  readonly messageIndex: number
  /** The id in the repaired transcript, or in the part that was left out. */
  readonly toolCallId?: string
}

type Note = (code: TranscriptRepairCode, messageIndex: number, toolCallId?: string) => void

/** A message that was read, and its index in the given list. Results are kept with their calls. */
interface Entry {
  readonly message: Exclude<Message, ToolResultMessage>
  readonly messageIndex: number
  readonly calls: readonly PlacedCall[]
}

/**
 * Turns a transcript from elsewhere into one that a run accepts. It changes nothing in a correct transcript and never the given
 * messages. It invents no results: a call without a result gets the outcome `unknown`, or `cancelled` if its answer was cut and it
 * cannot have run.
 */
export function repairTranscript(given: readonly Message[]): { messages: Message[]; repairs: TranscriptRepair[] } {
  if (!Array.isArray(given)) throw new AgentError('invalid-input', `messages must be a list of messages; received ${describeValue(given)}`)
  const repairs: TranscriptRepair[] = []
  const note: Note = (code, messageIndex, toolCallId) => {
    repairs.push({ code, messageIndex, ...(toolCallId !== undefined && { toolCallId }) })
  }
  const messages = write(pair(given, note), note)
  return { messages, repairs: repairs.sort((a, b) => a.messageIndex - b.messageIndex) }
}

/** Reads the messages, and gives each result to its call. */
function pair(given: readonly unknown[], note: Note): readonly Entry[] {
  const entries: Entry[] = []
  const placed = new PlacedCalls()
  for (const [messageIndex, each] of Array.from(given).entries()) {
    const message = readMessage(each, (code) => note(code, messageIndex))
    if (!message) {
      note('dropped-message', messageIndex)
    } else if (message.role === 'tool-result') {
      const { toolCallId } = message
      const taken = placed.take(message, messageIndex)
      if (taken !== 'in-place') note(taken, messageIndex, toolCallId)
    } else {
      const calls = placed.begin(message)
      entries.push({ message, messageIndex, calls })
    }
  }
  return entries
}

/** Writes every answer, followed by the results of its calls in their order, with unique ids. */
function write(entries: readonly Entry[], note: Note): Message[] {
  const callId = idGiver(entries.flatMap(({ calls }) => calls.map(({ part }) => part.toolCallId)))
  const written = entries.flatMap(({ message, messageIndex, calls }): readonly Written[] => {
    if (message.role === 'user') return [{ message, messageIndex }]
    const parts = new Map<AssistantPart, ToolCallPart>()
    for (const { part } of calls) {
      const toolCallId = callId(part.toolCallId, `call_${messageIndex + 1}`)
      if (toolCallId !== part.toolCallId) note('call-id', messageIndex, toolCallId)
      parts.set(part, { ...part, toolCallId })
    }
    const answer = { ...message, content: message.content.map((part) => parts.get(part) ?? part) }
    const results = calls.map(({ part, result, index }) => {
      const call = parts.get(part) ?? part
      if (result) return { message: fitted(result, call, answer, index, note), messageIndex: result.messageIndex }
      note('missing-result', messageIndex, call.toolCallId)
      return { message: missingResult(call, answer, index), messageIndex }
    })
    return [{ message: answer, messageIndex }, ...results]
  })
  return identified(written, note)
}

interface Written {
  readonly message: Message
  readonly messageIndex: number
}

function identified(written: readonly Written[], note: Note): Message[] {
  const messageId = idGiver(written.map(({ message }) => message.id))
  return written.map(({ message, messageIndex }) => {
    const id = messageId(message.id, `earlier_${messageIndex + 1}`)
    if (id !== message.id) note('message-id', messageIndex)
    return { ...message, id }
  })
}

/** Returns a result with the facts of its call. */
function fitted(
  { message: result, messageIndex }: NonNullable<PlacedCall['result']>,
  { toolCallId, toolName }: ToolCallPart,
  answer: AssistantMessage,
  index: number,
  note: Note,
): ToolResultMessage {
  const isWrongStatus = 'status' in result && result.status === 'result' && neverRan(answer)
  const isWrongIndex = 'index' in result && result.index !== index
  if (result.toolName !== toolName) note('tool-name', messageIndex, toolCallId)
  if (isWrongStatus) note('status', messageIndex, toolCallId)
  if (isWrongIndex) note('field', messageIndex, toolCallId)
  return { ...result, toolCallId, toolName, ...(isWrongStatus && { status: 'cancelled' }), ...(isWrongIndex && { index }) }
}

function missingResult({ toolCallId, toolName, invalid }: ToolCallPart, answer: AssistantMessage, index: number): ToolResult {
  const base = { role: 'tool-result', id: `result_${toolCallId}`, toolCallId, toolName, at: answer.at, index } as const
  if (neverRan(answer)) return { ...base, status: 'cancelled', output: errorText('not run: the answer was cut off') }
  if (invalid) return { ...base, status: 'error', output: errorText('not run: the arguments are not valid') }
  return { ...base, status: 'unknown', output: errorText('may or may not have happened: the transcript holds no result') }
}

function errorText(value: string): ToolResult['output'] {
  return { type: 'error-text', value }
}

/** A call of a transcript, with its result. */
interface PlacedCall {
  readonly part: ToolCallPart
  /** Position among the calls of its answer. */
  readonly index: number
  result: { readonly message: ToolResultMessage; readonly messageIndex: number } | undefined
}

/**
 * The calls of a transcript that is read from its beginning. A result belongs to the first unanswered call of its id in the answer
 * directly before it, else to the first such call of the transcript so far.
 */
class PlacedCalls {
  readonly #all = new CallQueues()
  #latest = new CallQueues()
  /** Index of the last call of the latest answer that got a result. */
  #reached = -1

  /** Adds a message that is not a result. Returns its calls. */
  begin(message: Message): readonly PlacedCall[] {
    this.#latest = new CallQueues()
    this.#reached = -1
    if (message.role !== 'assistant') return []
    const calls = clientCalls(message).map((part, index): PlacedCall => ({ part, index, result: undefined }))
    for (const call of calls) {
      this.#all.add(call)
      this.#latest.add(call)
    }
    return calls
  }

  /** Gives a result to its call. Returns its position relative to the call. */
  take(message: ToolResultMessage, messageIndex: number): 'in-place' | 'moved-result' | 'orphan-result' | 'duplicate-result' {
    const { toolCallId } = message
    const near = this.#latest.first(toolCallId)
    const call = near ?? this.#all.first(toolCallId)
    if (!call) return this.#all.knows(toolCallId) ? 'duplicate-result' : 'orphan-result'
    call.result = { message, messageIndex }
    if (!near || call.index < this.#reached) return 'moved-result'
    this.#reached = call.index
    return 'in-place'
  }
}

/** Calls by their ids. Each id has a queue, so that many calls of one id cost no search. */
class CallQueues {
  readonly #queues = new Map<string, { readonly calls: PlacedCall[]; next: number }>()

  add(call: PlacedCall): void {
    const queue = this.#queues.get(call.part.toolCallId)
    if (queue) queue.calls.push(call)
    else this.#queues.set(call.part.toolCallId, { calls: [call], next: 0 })
  }

  first(id: string): PlacedCall | undefined {
    const queue = this.#queues.get(id)
    while (queue?.calls[queue.next]?.result) queue.next++
    return queue?.calls[queue.next]
  }

  knows(id: string): boolean {
    return this.#queues.has(id)
  }
}
