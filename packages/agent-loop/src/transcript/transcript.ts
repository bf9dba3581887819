import type { AssistantMessage, Message } from '@bowline/llm'
import { deepFreeze } from '../json.ts'
import type { StoredMessage } from '../journal/journal.ts'
import { clientCalls } from './client-calls.ts'
import { TranscriptGuard } from './guard.ts'

/** The messages of a conversation: append only, guarded, frozen. */
export class Transcript {
  readonly #guard = new TranscriptGuard()
  readonly #messages: StoredMessage[] = []
  readonly #view: Message[] = []
  #failedAnswer = false

  /** Throws `invalid-transcript` when the messages break an invariant. */
  constructor(messages: readonly StoredMessage[]) {
    for (const message of messages) this.append(message)
  }

  get messages(): readonly StoredMessage[] {
    return this.#messages
  }

  /** What a model is shown: without failed answers and their results. Grows with the transcript. */
  get view(): readonly Message[] {
    return this.#view
  }

  get latest(): StoredMessage | undefined {
    return this.#messages.at(-1)
  }

  /** The latest answer while it has calls without a result in the transcript. */
  get openAnswer(): AssistantMessage | undefined {
    const { latest } = this
    return latest?.role === 'assistant' && this.#guard.openCalls.length > 0 ? latest : undefined
  }

  hasCall(toolCallId: string): boolean {
    return this.#guard.hasCall(toolCallId)
  }

  /** Why an input of this id may not stand next. */
  objectionTo(inputId: string | undefined): string | undefined {
    const [open] = this.#guard.openCalls
    if (open !== undefined) return `the call ${open} has no result`
    return inputId !== undefined && this.#guard.hasMessage(inputId) ? `the message id ${inputId} is used twice` : undefined
  }

  append(message: StoredMessage): void {
    this.#guard.append(message)
    deepFreeze(message)
    this.#messages.push(message)
    if (message.role !== 'tool-result') this.#failedAnswer = message.role === 'assistant' && message.stopReason === 'error'
    if (!this.#failedAnswer) this.#view.push(message)
  }

  /** Assistant messages from the latest back to the last input. */
  *answersOfTurn(): Generator<AssistantMessage> {
    for (let place = this.#messages.length - 1; place >= 0; place--) {
      const message = this.#messages[place]
      if (message?.role === 'user') return
      if (message?.role === 'assistant') yield message
    }
  }

  /** How many calls the open turn has asked for. */
  callsOfTurn(): number {
    let count = 0
    for (const answer of this.answersOfTurn()) count += clientCalls(answer).length
    return count
  }
}
