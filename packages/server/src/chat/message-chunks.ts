import type { DeltaEvent } from '@bowline/agent-loop'
import type { AssistantMessage, AssistantPart, AssistantTextPart, ToolCallPart } from '@bowline/llm'
import { callChunks, wholePartChunks } from './part-chunks.ts'
import { noChunks, type Chunks } from './ui-chunk.ts'

type BlockEvent = Exclude<DeltaEvent, { readonly type: 'tool-execution-delta' | 'output-delta' }>
type TextKind = AssistantTextPart['type']

/** State of a block that was sent. */
interface Block {
  /** Number of characters sent. */
  told: number
  isClosed: boolean
}

/**
 * Converts one answer of the model to chunks. Readers that are connected get the deltas. A reader that connects later gets the same
 * parts from the complete message. A reader that has seen the beginning gets the rest.
 */
export class MessageChunks {
  readonly messageId: string
  readonly #calls: Set<string>
  readonly #blocks = new Map<number, Block>()

  /** `calls` holds the ids of the calls that the page knows. Those of this answer are added to it. */
  constructor(messageId: string, calls: Set<string>) {
    this.messageId = messageId
    this.#calls = calls
  }

  /** True if the answer calls a tool that the provider does not run itself. */
  asksForTools = false

  push(event: BlockEvent): Chunks {
    const { index } = event
    switch (event.type) {
      case 'text-start':
        return this.#startText('text', index)
      case 'reasoning-start':
        return this.#startText('reasoning', index)
      case 'text-delta':
        return this.#goOn('text', index, event.delta)
      case 'reasoning-delta':
        return this.#goOn('reasoning', index, event.delta)
      case 'text-end':
        return this.#endText('text', index, event.text)
      case 'reasoning-end':
        return this.#endText('reasoning', index, event.text)
      case 'tool-call-start':
        return this.#startCall(index, event)
      case 'tool-call-delta':
        return this.#blocks.has(index)
          ? [{ type: 'tool-input-delta', toolCallId: event.toolCallId, inputTextDelta: event.delta }]
          : noChunks
      case 'tool-call-end':
        return this.#endCall(index, event.toolCall)
      case 'content-part':
        this.#close(index)
        return wholePartChunks(event.part, (id) => this.#calls.has(id))
      default: {
        const unknown: never = event
        return unknown
      }
    }
  }

  /** Returns everything that was not sent yet, by part. A part that was sent has no chunks. */
  complete({ content }: AssistantMessage): readonly Chunks[] {
    return content.map((part, index) => (this.#blocks.get(index)?.isClosed ? noChunks : this.#completePart(part, index)))
  }

  #completePart(part: AssistantPart, index: number): Chunks {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [...this.#startText(part.type, index), ...this.#endText(part.type, index, part.text)]
      case 'tool-call':
        return [...this.#startCall(index, part), ...this.#endCall(index, part)]
      default:
        this.#close(index)
        return wholePartChunks(part, (id) => this.#calls.has(id))
    }
  }

  #startText(kind: TextKind, index: number): Chunks {
    return this.#open(index) ? [{ type: `${kind}-start`, id: this.#idOf(index) }] : noChunks
  }

  #goOn(kind: TextKind, index: number, delta: string): Chunks {
    const block = this.#blocks.get(index)
    if (!block || block.isClosed || delta === '') return noChunks
    block.told += delta.length
    return [{ type: `${kind}-delta`, id: this.#idOf(index), delta }]
  }

  #endText(kind: TextKind, index: number, text: string): Chunks {
    const block = this.#blocks.get(index)
    if (!block) return noChunks
    const rest = this.#goOn(kind, index, text.slice(block.told))
    this.#close(index)
    return [...rest, { type: `${kind}-end`, id: this.#idOf(index) }]
  }

  #startCall(
    index: number,
    { toolCallId, toolName, providerExecuted }: Pick<ToolCallPart, 'toolCallId' | 'toolName' | 'providerExecuted'>,
  ): Chunks {
    if (!this.#open(index)) return noChunks
    this.#calls.add(toolCallId)
    this.asksForTools ||= !providerExecuted
    return [{ type: 'tool-input-start', toolCallId, toolName, ...(providerExecuted && { providerExecuted }) }]
  }

  #endCall(index: number, call: ToolCallPart): Chunks {
    if (!this.#blocks.has(index)) return noChunks
    this.#close(index)
    return callChunks(call)
  }

  /** Opens a block. Returns false if it was opened before. */
  #open(index: number): boolean {
    if (this.#blocks.has(index)) return false
    this.#blocks.set(index, { told: 0, isClosed: false })
    return true
  }

  #close(index: number): void {
    this.#blocks.set(index, { told: 0, isClosed: true })
  }

  #idOf(index: number): string {
    return `${this.messageId}.${index}`
  }
}
