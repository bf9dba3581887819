import type { AssistantMessage } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { StoredMessage } from '../journal/journal.ts'
import { clientCalls } from './client-calls.ts'

interface OpenCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The answer failed, was stopped or was cut: its calls never ran. */
  readonly neverRan: boolean
}

/**
 * Keeps what must hold for every transcript: ids are unique, each call has exactly one result, results stand directly
 * behind their answer in call order, and nothing follows an answer with open calls. Work per message does not depend
 * on the length of the transcript.
 */
export class TranscriptGuard {
  readonly #messageIds = new Set<string>()
  readonly #callIds = new Set<string>()
  #open: readonly OpenCall[] = []

  /** The calls of the latest answer that have no result yet. */
  get openCalls(): readonly string[] {
    return this.#open.map((call) => call.toolCallId)
  }

  /** True when the conversation has had a call of this id. */
  hasCall(toolCallId: string): boolean {
    return this.#callIds.has(toolCallId)
  }

  hasMessage(id: string): boolean {
    return this.#messageIds.has(id)
  }

  /** Throws `invalid-transcript` and changes nothing when `message` may not stand next. */
  append(message: StoredMessage): void {
    this.#checkId(message)
    if (message.role === 'tool-result') {
      this.#takeResult(message)
    } else {
      const first = this.#open[0]
      if (first) throw invalid(`${message.role} message ${message.id} follows the open call ${first.toolCallId}`)
      if (message.role === 'assistant') this.#takeAnswer(message)
    }
    this.#messageIds.add(message.id)
  }

  #checkId(message: StoredMessage): void {
    if (message.id === '') throw invalid(`a ${message.role} message has an empty id`)
    if (this.#messageIds.has(message.id)) throw invalid(`the message id ${message.id} is used twice`)
  }

  #takeAnswer(answer: AssistantMessage): void {
    const neverRan = answer.stopReason !== 'stop' && answer.stopReason !== 'tool-calls'
    const ids = new Set<string>()
    for (const { toolCallId } of clientCalls(answer)) {
      if (toolCallId === '') throw invalid(`message ${answer.id} has a call with an empty id`)
      if (this.#callIds.has(toolCallId) || ids.has(toolCallId)) throw invalid(`the call id ${toolCallId} is used twice`)
      ids.add(toolCallId)
    }
    for (const id of ids) this.#callIds.add(id)
    this.#open = clientCalls(answer).map(({ toolCallId, toolName }) => ({ toolCallId, toolName, neverRan }))
  }

  #takeResult(result: Extract<StoredMessage, { role: 'tool-result' }>): void {
    const [next, ...later] = this.#open
    const { toolCallId, toolName, status } = result
    if (next?.toolCallId !== toolCallId) {
      const asked = this.#callIds.has(toolCallId)
      const waits = later.some((call) => call.toolCallId === toolCallId)
      throw invalid(
        waits
          ? `the result of ${toolCallId} stands before that of ${next?.toolCallId ?? ''}`
          : `the result of ${toolCallId} ${asked ? 'is a second one' : 'belongs to no call'}`,
      )
    }
    if (next.toolName !== toolName) throw invalid(`the result of ${toolCallId} names ${toolName}, not ${next.toolName}`)
    if (next.neverRan && status === 'result') throw invalid(`the call ${toolCallId} of a broken answer has a result`)
    this.#open = later
  }
}

function invalid(message: string): AgentError {
  return new AgentError('invalid-transcript', message)
}
