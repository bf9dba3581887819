import type { Message, ToolCallPart, ToolResultMessage } from '@bowline/llm'
import { clientCalls } from './client-calls.ts'

/** A call of a transcript, with the result that belongs to it. */
export interface PlacedCall {
  readonly part: ToolCallPart
  /** Among the calls of its answer. */
  readonly index: number
  result: { readonly message: ToolResultMessage; readonly messageIndex: number } | undefined
}

/**
 * The calls of a transcript that is read from its beginning. A result belongs to the first unanswered call of its id in
 * the answer right above it, else to the first one of the transcript so far.
 */
export class PlacedCalls {
  readonly #all = new CallQueues()
  #latest = new CallQueues()
  /** Place of the last call of the latest answer that got a result. */
  #reached = -1

  /** Takes in a message that is no result, and gives its calls. */
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

  /** Gives a result to its call, and says how it stands to it. */
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

/** Calls by their ids. Each id is a queue, so that many calls of one id cost no search. */
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
