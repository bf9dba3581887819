import { isSuspended } from '@bowline/agent-loop'
import type { Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { withoutSecrets } from '../sse/frames.ts'
import { MessageFold, type UiMessage } from './message-fold.ts'
import { TurnChunks, type TurnName } from './turn-chunks.ts'
import type { Chunks } from './ui-chunk.ts'

/** Message of a turn as a page has it that has read its stream up to some event. */
export class TurnFold {
  readonly #name: TurnName
  readonly #redaction: Redaction
  readonly #turn: TurnChunks
  readonly #message = new MessageFold()
  readonly #stored = new Set<string>()
  readonly #answers: string[] = []
  #isTold = false
  #hasEnded = false
  #isOver = false
  /** Id of the stored user message. */
  inputEntry: string | undefined

  constructor(name: TurnName, redaction: Redaction) {
    this.#name = name
    this.#redaction = redaction
    this.#turn = new TurnChunks(name)
  }

  push(event: LoggedEvent): void {
    this.#note(event)
    this.#isTold = true
    for (const chunks of this.#turn.push(withoutSecrets(event, this.#redaction))) this.add(chunks)
  }

  /** Adds chunks that a stream sends at its end. */
  add(chunks: Chunks): void {
    for (const chunk of chunks) this.#message.push(chunk)
  }

  /** Adds answers that no event contains, if the message still asks for them. */
  addAnswers(chunks: Chunks): void {
    this.add(chunks.filter((chunk) => this.#message.asksFor(chunk)))
  }

  /** True if no further event of the run follows. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Id of the last answer that was not withdrawn. */
  get lastAnswer(): string | undefined {
    return this.#answers.findLast((id) => this.#stored.has(id))
  }

  /** True if a message of the turn is in the transcript. */
  get isStored(): boolean {
    return this.#stored.size > 0
  }

  /** Undefined before the first event. */
  get message(): UiMessage | undefined {
    const { sessionId, runId } = this.#name
    return this.#isTold ? { id: runId, role: 'assistant', metadata: { sessionId, runId }, parts: this.#message.parts } : undefined
  }

  #note(event: LoggedEvent): void {
    switch (event.type) {
      case 'user-message':
        this.inputEntry ??= event.messageId
        this.#stored.add(event.messageId)
        return
      case 'message-end':
        this.#stored.add(event.messageId)
        this.#answers.push(event.messageId)
        return
      case 'message-discarded':
        this.#stored.delete(event.messageId)
        return
      case 'turn-end':
        this.#hasEnded = !isSuspended(event.status)
        // A run that never began has no save-point after its end.
        this.#isOver = this.#hasEnded && event.turn === 0
        return
      case 'save-point':
        this.#isOver = this.#hasEnded
        return
      default:
    }
  }
}
