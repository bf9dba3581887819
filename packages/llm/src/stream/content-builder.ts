import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { BlockEvent, WholePart } from '../events.ts'
import { definedOnly, toJsonValue } from '../json.ts'
import type { AssistantPart, JSONValue } from '../messages.ts'
import { MalformedPart } from './malformed-part.ts'
import {
  callFlags,
  newCallBlock,
  newTextBlock,
  type CallBlock,
  type CallFacts,
  type OpenBlock,
  type TextBlock,
  type TextKind,
} from './open-block.ts'
import { neededText } from './part-fields.ts'
import { mergeMetadata } from './provider-metadata.ts'
import { parseToolInput, truncatedToolInput, type ToolInput } from './tool-input.ts'
import { UniqueIds } from '../unique-ids.ts'

type StreamPart<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>

/** Converts provider parts to block events, and to the content of the message. */
export class ContentBuilder {
  readonly #emit: (event: BlockEvent) => void
  readonly #parts: (AssistantPart | undefined)[] = []
  readonly #textBlocks: Record<TextKind, Map<string, TextBlock>> = { text: new Map(), reasoning: new Map() }
  readonly #callBlocks = new Map<string, CallBlock>()
  /** Created lazily, because most answers call no tool. */
  #callIds: UniqueIds | undefined
  #preliminary: Map<string, number> | undefined
  /** Block of the last delta; the next delta usually belongs to it too. */
  #growing: OpenBlock | undefined
  #outputLength = 0

  constructor(emit: (event: BlockEvent) => void) {
    this.#emit = emit
  }

  /** UTF-16 length of all text, reasoning and arguments. Final only after `closeAll`. */
  get outputLength(): number {
    return this.#outputLength
  }

  /** Returns the finished parts. Final only after `closeAll`. */
  content(): AssistantPart[] {
    return this.#parts.filter((part) => part !== undefined)
  }

  /**
   * Fast path: returns the event of a part that only continues the block of the last delta. For any other part, changes nothing and
   * returns `undefined`.
   */
  furtherDelta(part: Partial<Record<string, unknown>>): BlockEvent | undefined {
    const block = this.#growing
    if (block?.index === undefined || part['type'] !== block.partType || part['id'] !== block.id) return undefined
    const delta = part['delta']
    if (part['providerMetadata'] !== undefined || !block.text.fits(delta)) return undefined
    block.text.add(delta)
    return { type: block.eventType, index: block.index, delta }
  }

  textStart(kind: TextKind, id: string, metadata: unknown): void {
    this.textEnd(kind, id, undefined)
    const block = this.#openText(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
  }

  textDelta(kind: TextKind, id: string, delta: unknown, metadata: unknown): void {
    if (typeof delta !== 'string') throw new MalformedPart(`a ${kind} delta is not a string`)
    const block = this.#textBlocks[kind].get(id) ?? this.#openText(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
    this.#deliverText(block, block.text.take(delta))
  }

  textEnd(kind: TextKind, id: string, metadata: unknown, said?: unknown): void {
    const open = this.#textBlocks[kind].get(id)
    const citations = Array.isArray(said) ? said : undefined
    if (!open && metadata === undefined && !citations) return
    const block = open ?? this.#openText(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
    if (citations) this.#startText(block)
    this.#closeText(block, citations)
  }

  callStart(part: StreamPart<'tool-input-start'>): void {
    const open = this.#callBlocks.get(part.id)
    if (open) this.#closeUnfinishedCall(open)
    this.#openCall(part.id, part.toolName, encodingOf(part.inputEncoding), part)
  }

  callDelta(id: string, delta: unknown, metadata: unknown): void {
    if (typeof delta !== 'string') throw new MalformedPart('a tool input delta is not a string')
    const block = this.#callBlocks.get(id)
    if (!block) throw new MalformedPart('tool input arrived for a call without a name')
    block.metadata = mergeMetadata(block.metadata, metadata)
    this.#deliverInput(block, block.text.take(delta))
  }

  callInputEnd(id: string, metadata: unknown): void {
    const block = this.#callBlocks.get(id)
    if (!block) return
    block.inputEnded = true
    block.metadata = mergeMetadata(block.metadata, metadata)
  }

  call(part: StreamPart<'tool-call'>): void {
    if (typeof part.input !== 'string') throw new MalformedPart('the input of a tool call is not text')
    const { input } = part
    const toolCallId = neededText(part, 'toolCallId')
    const toolName = neededText(part, 'toolName')
    const open = this.#callBlocks.get(toolCallId)
    const block = open ?? this.#openCall(toolCallId, toolName, undefined, { ...part, providerMetadata: undefined })
    block.metadata = mergeMetadata(block.metadata, part.providerMetadata)
    if (block.text.length === 0) this.#outputLength += input.length
    const flags = { ...block.flags, ...callFlags(part) }
    this.#closeCall({ ...block, toolName, flags }, parseToolInput(input))
  }

  /** Adds a part that arrives whole. The next result of the same call replaces a preliminary tool result. */
  whole(part: WholePart, preliminary?: { readonly of: string; readonly more: boolean }): void {
    const known = preliminary && this.#preliminary?.get(preliminary.of)
    const index = known ?? this.#parts.length
    this.#parts[index] = part
    if (preliminary?.more) (this.#preliminary ??= new Map<string, number>()).set(preliminary.of, index)
    else if (preliminary) this.#preliminary?.delete(preliminary.of)
    this.#emit({ type: 'content-part', index, part })
  }

  /** Closes all open blocks, in the order in which they were opened. */
  closeAll(): void {
    const { text, reasoning } = this.#textBlocks
    const closings = [
      ...[...text.values(), ...reasoning.values()].map((block) => ({
        index: block.index ?? 0,
        close: () => this.#closeText(block),
      })),
      ...[...this.#callBlocks.values()].map((block) => ({
        index: block.index,
        close: () => this.#closeUnfinishedCall(block),
      })),
    ]
    for (const { close } of closings.sort((a, b) => a.index - b.index)) close()
  }

  #openText(kind: TextKind, id: string): TextBlock {
    const block = newTextBlock(kind, id)
    this.#textBlocks[kind].set(id, block)
    return block
  }

  #addMetadata(block: TextBlock, metadata: unknown): void {
    block.metadata = mergeMetadata(block.metadata, metadata)
    if (block.metadata) this.#startText(block)
  }

  #startText(block: TextBlock): number {
    if (block.index !== undefined) return block.index
    const index = this.#takeIndex()
    block.index = index
    const type = block.kind === 'text' ? 'text-start' : 'reasoning-start'
    this.#emit({ type, index, ...definedOnly({ providerMetadata: block.metadata }) })
    return index
  }

  #deliverText(block: TextBlock, delta: string): void {
    if (delta === '') return
    const index = this.#startText(block)
    this.#growing = block
    this.#emit({ type: block.eventType, index, delta })
  }

  #deliverInput(block: CallBlock, delta: string): void {
    if (delta === '') return
    this.#growing = block
    this.#emit({ type: block.eventType, index: block.index, delta })
  }

  #closeText(block: TextBlock, citations?: readonly unknown[]): void {
    this.#textBlocks[block.kind].delete(block.id)
    this.#deliverText(block, block.text.rest())
    this.#stopGrowing(block)
    if (block.index === undefined) return
    const finished = {
      text: block.text.toString(),
      ...definedOnly({
        providerMetadata: block.metadata,
        citations: citations && (toJsonValue(citations) as JSONValue[]),
      }),
    }
    this.#parts[block.index] = { type: block.kind, ...finished }
    this.#emit({ type: block.kind === 'text' ? 'text-end' : 'reasoning-end', index: block.index, ...finished })
  }

  #openCall(id: unknown, toolName: unknown, encoding: 'json' | 'text' | undefined, from: CallFacts): CallBlock {
    if (typeof id !== 'string' || id === '' || typeof toolName !== 'string' || toolName === '') {
      throw new MalformedPart('a tool call has no id or no name')
    }
    const toolCallId = (this.#callIds ??= new UniqueIds()).take(id)
    const index = this.#takeIndex()
    const block = newCallBlock({ id, index, toolCallId, toolName }, encoding, from)
    this.#callBlocks.set(id, block)
    this.#emit({
      type: 'tool-call-start',
      index,
      toolCallId,
      toolName,
      ...definedOnly({ providerExecuted: block.flags.providerExecuted, inputEncoding: encoding }),
    })
    return block
  }

  #closeUnfinishedCall(block: CallBlock): void {
    this.#deliverInput(block, block.text.rest())
    const text = block.text.toString()
    const finished = block.inputEnded && block.encoding === 'json'
    this.#closeCall(block, finished ? parseToolInput(text) : truncatedToolInput(text))
  }

  #closeCall(block: CallBlock, input: ToolInput): void {
    this.#callBlocks.delete(block.id)
    this.#stopGrowing(block)
    const { index, toolCallId, toolName, flags, metadata } = block
    const toolCall = {
      type: 'tool-call' as const,
      toolCallId,
      toolName,
      ...input,
      ...flags,
      ...definedOnly({ providerMetadata: metadata }),
    }
    this.#parts[index] = toolCall
    this.#emit({ type: 'tool-call-end', index, toolCall })
  }

  #stopGrowing({ id, partType, text }: OpenBlock): void {
    this.#outputLength += text.length
    const growing = this.#growing
    if (growing && growing.id === id && growing.partType === partType) this.#growing = undefined
  }

  #takeIndex(): number {
    return this.#parts.push(undefined) - 1
  }
}

function encodingOf(value: unknown): CallBlock['encoding'] | undefined {
  return value === 'json' || value === 'text' ? value : undefined
}
