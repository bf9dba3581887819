import type { AssistantMessage, Message, ToolCallPart, ToolResultMessage } from '../messages.ts'
import type { CallIds, IdsOfMessage } from './call-ids.ts'
import { isCutShort } from './kept-share.ts'
import { isCall, mapParts } from './parts.ts'
import type { Repairs } from './repairs.ts'

/** A tool call that the caller runs, with its result. */
export interface PairedCall {
  readonly part: ToolCallPart
  readonly messageIndex: number
  /** Id under which it is sent. */
  readonly toolCallId: string
  result: { readonly message: ToolResultMessage; readonly messageIndex: number } | undefined
}

/** Calls of one assistant message, by their positions in the content. */
export type CallsOfMessage = readonly (PairedCall | undefined)[]

/** Calls that the caller runs, by message index. */
export type PairedCalls = readonly CallsOfMessage[]

export const noCalls: CallsOfMessage = []

/**
 * Pairs results with calls. A result belongs to the first unanswered call with its id in the preceding assistant message, else in
 * the transcript so far. Unanswered calls of an answer that was cut short are omitted. A late result must not add them again,
 * because the prompt without them was already sent.
 */
export function pairCalls(messages: readonly Message[], ids: CallIds, repairs: Repairs): PairedCalls {
  const callsOfMessage: CallsOfMessage[] = []
  const awaited = new AwaitedCalls(messages, callsOfMessage)
  let latest = noneBefore

  for (const [messageIndex, message] of messages.entries()) {
    const calls = message.role === 'assistant' ? callsOf(message, messageIndex, ids[messageIndex]) : noCalls
    callsOfMessage.push(calls)
    if (message.role !== 'tool-result') {
      latest = calls.length > 0 ? new LatestCalls(calls) : noneBefore
      continue
    }
    const { toolCallId } = message
    const prompt = latest.take(toolCallId)
    const call = prompt ?? awaited.first(toolCallId)
    if (call) {
      call.result = { message, messageIndex }
      if (!prompt) repairs.add('moved-result', messageIndex, toolCallId)
    } else {
      const answered = latest.knows(toolCallId) || awaited.knows(toolCallId)
      repairs.add(answered ? 'duplicate-result' : 'orphan-result', messageIndex, toolCallId)
    }
  }
  return callsOfMessage
}

function callsOf({ content }: AssistantMessage, messageIndex: number, ids: IdsOfMessage = []): CallsOfMessage {
  if (ids.length === 0) return noCalls
  return mapParts(content, (part, place) => {
    const toolCallId = ids[place]
    if (toolCallId === undefined || !isCall(part) || part.providerExecuted) return undefined
    return { part, messageIndex, toolCallId, result: undefined }
  })
}

/** Calls of the preceding answer. Their results usually come in order, so no index is needed. */
class LatestCalls {
  readonly #calls: CallsOfMessage
  /** All calls before this position are answered. */
  #place = 0
  #index: OpenCalls | undefined

  constructor(calls: CallsOfMessage) {
    this.#calls = calls
  }

  /** Returns the first unanswered call with this id. */
  take(id: string): PairedCall | undefined {
    while (this.#place < this.#calls.length && !isOpen(this.#calls[this.#place])) this.#place++
    const next = this.#calls[this.#place]
    return next?.part.toolCallId === id ? next : this.#indexed().first(id)
  }

  knows(id: string): boolean {
    return this.#indexed().knows(id)
  }

  #indexed(): OpenCalls {
    if (this.#index) return this.#index
    this.#index = new OpenCalls()
    this.#index.addAll(this.#calls)
    return this.#index
  }
}

const noneBefore = new LatestCalls(noCalls)

/** Earlier calls that a result may still belong to. Indexed only if a result is out of order. */
class AwaitedCalls {
  readonly #messages: readonly Message[]
  readonly #callsOfMessage: PairedCalls
  readonly #index = new OpenCalls()
  #indexedMessages = 0

  constructor(messages: readonly Message[], callsOfMessage: PairedCalls) {
    this.#messages = messages
    this.#callsOfMessage = callsOfMessage
  }

  first(id: string): PairedCall | undefined {
    return this.#indexed().first(id)
  }

  knows(id: string): boolean {
    return this.#indexed().knows(id)
  }

  #indexed(): OpenCalls {
    while (this.#indexedMessages < this.#callsOfMessage.length) {
      const messageIndex = this.#indexedMessages++
      const message = this.#messages[messageIndex]
      if (message?.role === 'assistant' && !isCutShort(message)) this.#index.addAll(this.#callsOfMessage[messageIndex] ?? noCalls)
    }
    return this.#index
  }
}

/** Calls by the id that the model gave them. Each id has a queue, so that many calls with one id need no search. */
class OpenCalls {
  readonly #queues = new Map<string, { readonly calls: PairedCall[]; next: number }>()

  addAll(calls: CallsOfMessage): void {
    for (const call of calls) {
      if (!call) continue
      const queue = this.#queues.get(call.part.toolCallId)
      if (queue) queue.calls.push(call)
      else this.#queues.set(call.part.toolCallId, { calls: [call], next: 0 })
    }
  }

  first(id: string): PairedCall | undefined {
    const queue = this.#queues.get(id)
    if (!queue) return undefined
    while (queue.calls[queue.next]?.result) queue.next++
    return queue.calls[queue.next]
  }

  knows(id: string): boolean {
    return this.#queues.has(id)
  }
}

function isOpen(call: PairedCall | undefined): boolean {
  return call !== undefined && call.result === undefined
}
