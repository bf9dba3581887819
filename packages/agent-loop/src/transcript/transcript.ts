import type { AssistantMessage, Message, UserMessage } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import { clientCalls } from '../base/messages.ts'
import type { StoredMessage } from '../contract/journal.ts'
import type { Compaction } from '../events/message-events.ts'
import type { ToolResult } from '../events/tool-events.ts'
import type { ContextEstimate } from './estimate.ts'
import { TranscriptGuard } from './guard.ts'
import { View } from './view.ts'

/** The messages of a conversation, guarded and frozen, what a model is shown of them, and about how much that is. */
export class Transcript {
  readonly estimate: ContextEstimate
  readonly shown = new View()
  readonly #guard = new TranscriptGuard()
  #messages: StoredMessage[] = []
  #latestInput: UserMessage | undefined

  /** Throws `invalid-transcript` when the messages break an invariant. */
  constructor(messages: readonly StoredMessage[], estimate: ContextEstimate, compaction?: Compaction) {
    this.estimate = estimate
    for (const message of messages) this.#take(message)
    if (compaction) this.shown.setCompaction(compaction)
    this.#estimateAnew()
  }

  get messages(): readonly StoredMessage[] {
    return this.#messages
  }

  /** What a model is shown: without failed answers and their results, and with a summary in the place of what it stands for. */
  get view(): readonly Message[] {
    return this.shown.messages
  }

  get latestAnswer(): AssistantMessage | undefined {
    return this.#messages.findLast((message) => message.role === 'assistant')
  }

  /** The newest user message. Undefined if there is none, or if a compaction stands for it and it was not loaded. */
  get latestInput(): UserMessage | undefined {
    return this.#latestInput
  }

  /** Results of the calls of the latest answer. */
  get latestResults(): readonly ToolResult[] {
    const answer = this.#messages.findLastIndex((message) => message.role === 'assistant')
    return this.#messages.slice(answer + 1).filter((message) => message.role === 'tool-result')
  }

  /** The latest answer while it has calls without a result in the transcript. */
  get openAnswer(): AssistantMessage | undefined {
    const latest = this.#messages.at(-1)
    return latest?.role === 'assistant' && this.#guard.openCalls.length > 0 ? latest : undefined
  }

  hasMessage(id: string): boolean {
    return this.#guard.hasMessage(id)
  }

  /** An id for a call: the given one, unless the conversation, or `alsoTaken`, has it. */
  freeCallId(given: string, alsoTaken: (id: string) => boolean): string {
    return this.#guard.freeCallId(given, alsoTaken)
  }

  resultOf(toolCallId: string): ToolResult | undefined {
    const found = this.#messages.findLast((entry) => entry.role === 'tool-result' && entry.toolCallId === toolCallId)
    return found?.role === 'tool-result' ? found : undefined
  }

  /** Why an input of this id may not stand next. `closes`: open calls are given their results before. */
  objectionTo(inputId: string | undefined, { closes }: { readonly closes: boolean }): string | undefined {
    const [open] = this.#guard.openCalls
    if (open !== undefined && !closes) return `the call ${open} has no result`
    return inputId !== undefined && this.#guard.hasMessage(inputId) ? `the message id ${inputId} is used twice` : undefined
  }

  /** Throws `invalid-transcript` and changes nothing. */
  append(message: StoredMessage): void {
    if (this.#take(message)) this.estimate.append(message)
  }

  /** Takes messages out again. Their ids stay used. */
  discard(messageIds: readonly string[]): void {
    const gone = new Set(messageIds)
    this.#messages = this.#messages.filter(({ id }) => !gone.has(id))
    this.#latestInput = this.#messages.findLast((message) => message.role === 'user')
    this.shown.discard(messageIds)
    this.#estimateAnew()
  }

  setCompaction(compaction: Compaction | undefined): void {
    this.shown.setCompaction(compaction)
    this.#estimateAnew()
  }

  /** Assistant messages from the latest back to the last input. */
  *answersOfTurn(): Generator<AssistantMessage> {
    for (let place = this.#messages.length - 1; place >= 0; place--) {
      const message = this.#messages[place]
      if (message?.role === 'user') return
      if (message?.role === 'assistant') yield message
    }
  }

  /** Place of a message; undefined when it is not there, or not any more. */
  placeOf(id: string | undefined): number | undefined {
    const place = this.#messages.findLastIndex((message) => message.id === id)
    return place === -1 ? undefined : place
  }

  /** How many calls the turn that began with this message has asked for; without it, those since the last input. */
  callsSince(inputId: string | undefined): number {
    const from = this.placeOf(inputId) ?? this.#messages.findLastIndex(({ role }) => role === 'user')
    return this.#messages.slice(from + 1).reduce((count, message) => count + (message.role === 'assistant' ? clientCalls(message).length : 0), 0)
  }

  /** Whether the message is shown. */
  #take(message: StoredMessage): boolean {
    this.#guard.append(message)
    this.#messages.push(deepFreeze(message))
    if (message.role === 'user') this.#latestInput = message
    return this.shown.append(message)
  }

  #estimateAnew(): void {
    this.estimate.restart(this.shown.messages, this.shown.freshFrom)
  }
}
