import type { Message, ToolCallPart, ToolResultMessage } from '../messages.ts'
import type { CallIds } from './call-ids.ts'
import { isCutShort } from './kept-share.ts'
import type { Repairs } from './repairs.ts'

/** A tool call that the caller had to run, with the result that belongs to it. */
export interface PairedCall {
  readonly part: ToolCallPart
  readonly messageIndex: number
  /** The id under which it is sent. */
  readonly toolCallId: string
  result: { readonly message: ToolResultMessage; readonly messageIndex: number } | undefined
}

/** The calls of one assistant message by their places in its content. */
export type CallsOfMessage = ReadonlyMap<number, PairedCall>

/** The calls that the caller had to run, by the message's index. */
export type PairedCalls = ReadonlyMap<number, CallsOfMessage>

/**
 * Pairs results with calls. A result belongs to the first unanswered call of its id in the assistant message right
 * before it, else to the first one of the transcript so far. The calls of an answer that was cut short are not waited
 * for: unanswered they are left out, and a late result must not bring them back into what was sent already.
 */
export function pairCalls(messages: readonly Message[], ids: CallIds, repairs: Repairs): PairedCalls {
  const callsOfMessage = new Map<number, CallsOfMessage>()
  const awaited = new OpenCalls()
  let latest = new OpenCalls()

  for (const [messageIndex, message] of messages.entries()) {
    if (message.role !== 'tool-result') latest = new OpenCalls()
    if (message.role === 'assistant') {
      const calls = new Map<number, PairedCall>()
      for (const [place, toolCallId] of ids.get(messageIndex) ?? []) {
        const part = message.content[place]
        if (part?.type !== 'tool-call' || part.providerExecuted) continue
        const call: PairedCall = { part, messageIndex, toolCallId, result: undefined }
        calls.set(place, call)
        latest.add(call)
        if (!isCutShort(message)) awaited.add(call)
      }
      callsOfMessage.set(messageIndex, calls)
    }
    if (message.role === 'tool-result') {
      const { toolCallId } = message
      const prompt = latest.first(toolCallId)
      const call = prompt ?? awaited.first(toolCallId)
      if (call) {
        call.result = { message, messageIndex }
        if (!prompt) repairs.add('moved-result', messageIndex, toolCallId)
      } else {
        const answered = latest.knows(toolCallId) || awaited.knows(toolCallId)
        repairs.add(answered ? 'duplicate-result' : 'orphan-result', messageIndex, toolCallId)
      }
    }
  }
  return callsOfMessage
}

/** Calls by the id that their model gave them. Each id is a queue, so that many calls of one id cost no search. */
class OpenCalls {
  readonly #queues = new Map<string, { readonly calls: PairedCall[]; next: number }>()

  add(call: PairedCall): void {
    const id = call.part.toolCallId
    const queue = this.#queues.get(id)
    if (queue) queue.calls.push(call)
    else this.#queues.set(id, { calls: [call], next: 0 })
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
