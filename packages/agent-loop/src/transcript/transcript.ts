import type { AssistantMessage, Message, UserMessage } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import { clientCalls } from '../base/messages.ts'
import type { JournalState, StoredMessage } from '../contract/journal.ts'
import type { ToolResult } from '../events/tool-events.ts'
import type { ModelName } from '../events/turn-events.ts'
import { ContextEstimate } from './estimate.ts'
import { TranscriptGuard } from './guard.ts'
import { View } from './view.ts'

type StoredTranscript = Pick<JournalState, 'messages' | 'compaction'>

/** The messages of a conversation, checked and frozen, with the view that a model is shown and an estimate of its size. */
export class Transcript {
  estimate: ContextEstimate
  /** An estimate of the messages of this view up to `end`, to which no run has added its prompt. */
  #read: { readonly estimate: ContextEstimate; readonly view: readonly Message[]; readonly end: number } | undefined
  readonly shown = new View()
  readonly #guard = new TranscriptGuard()
  #messages: StoredMessage[] = []

  /** Throws `invalid-transcript` if the messages break an invariant. */
  constructor({ messages, compaction }: StoredTranscript, model: ModelName) {
    this.estimate = new ContextEstimate(model)
    for (const message of messages) this.#take(message)
    if (compaction) this.shown.setCompaction(compaction)
    this.estimate.restart(this.shown)
  }

  get messages(): readonly StoredMessage[] {
    return this.#messages
  }

  /**
   * The messages that a model is shown: without failed answers and their results, and with a summary instead of compacted messages.
   */
  get view(): readonly Message[] {
    return this.shown.messages
  }

  get latestAnswer(): AssistantMessage | undefined {
    return this.#messages.findLast((message) => message.role === 'assistant')
  }

  /** The newest user message. Undefined if there is none, or if it was compacted and the journal did not load it. */
  get latestInput(): UserMessage | undefined {
    return this.#messages.findLast((message) => message.role === 'user')
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

  /** Returns an id for a call: the given one, unless the conversation or `alsoTaken` has it. */
  freeCallId(given: string, alsoTaken: (id: string) => boolean): string {
    return this.#guard.freeCallId(given, alsoTaken)
  }

  resultOf(toolCallId: string): ToolResult | undefined {
    return this.#messages.findLast((entry): entry is ToolResult => entry.role === 'tool-result' && entry.toolCallId === toolCallId)
  }

  /** Returns why an input of this id may not be the next message. `closes`: open calls get their results first. */
  objectionTo(inputId: string | undefined, { closes }: { readonly closes: boolean }): string | undefined {
    const [open] = this.#guard.openCalls
    if (open !== undefined && !closes) return `the call ${open} has no result`
    return inputId !== undefined && this.#guard.hasMessage(inputId) ? `the message id ${inputId} is used twice` : undefined
  }

  /**
   * Adds the messages that follow its own in `messages`, and begins a new estimate. Returns false if it does not end like the
   * beginning of them, or has another compaction. Throws `invalid-transcript` if they break an invariant.
   */
  follow({ messages, compaction }: StoredTranscript, model: ModelName): boolean {
    const from = this.#messages.length
    if (messages[from - 1] !== this.#messages[from - 1] || this.shown.compaction !== compaction) return false
    for (const message of messages.slice(from)) this.#take(message)
    const known = this.#read
    const { view } = this
    const estimate = new ContextEstimate(model)
    if (known?.view === view && estimate.take(known.estimate)) for (const message of view.slice(known.end)) estimate.append(message)
    else estimate.restart(this.shown)
    this.#read = { estimate, view, end: view.length }
    this.estimate = new ContextEstimate(model)
    return this.estimate.take(estimate)
  }

  /** Adds a message. Throws `invalid-transcript` and changes nothing if it may not follow. */
  append(message: StoredMessage): void {
    if (this.#take(message)) this.estimate.append(message)
  }

  /** Removes messages. Their ids stay used. */
  discard(messageIds: readonly string[]): void {
    const gone = new Set(messageIds)
    this.#messages = this.#messages.filter(({ id }) => !gone.has(id))
    this.shown.discard(messageIds)
    this.estimate.restart(this.shown)
  }

  /** Yields the answers from the latest one back to the last input. */
  *answersOfTurn(): Generator<AssistantMessage> {
    for (let place = this.#messages.length - 1; place >= 0; place--) {
      const message = this.#messages[place]
      if (message?.role === 'user') return
      if (message?.role === 'assistant') yield message
    }
  }

  /** Returns the index of a message; undefined if there is none, or none any more. */
  placeOf(id: string | undefined): number | undefined {
    const place = this.#messages.findLastIndex((message) => message.id === id)
    return place === -1 ? undefined : place
  }

  /** Returns the number of calls in the turn that began with this message; without it, since the last input. */
  callsSince(inputId: string | undefined): number {
    const from = this.placeOf(inputId) ?? this.#messages.findLastIndex(({ role }) => role === 'user')
    return this.#messages.slice(from + 1).flatMap((message) => (message.role === 'assistant' ? clientCalls(message) : [])).length
  }

  /** Adds a message. Returns whether it is shown. */
  #take(message: StoredMessage): boolean {
    this.#guard.append(message)
    this.#messages.push(deepFreeze(message))
    return this.shown.append(message)
  }
}
