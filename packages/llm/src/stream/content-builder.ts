import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { BlockEvent, WholePart } from '../events.ts'
import { definedOnly, toJsonValue } from '../json.ts'
import type { AssistantPart, JSONValue, ProviderMetadata } from '../messages.ts'
import { MalformedPart } from './malformed-part.ts'
import { parseToolInput, truncatedToolInput, type ToolInput } from './tool-input.ts'
import { TextBuffer } from './text-buffer.ts'
import { WholeCharacters } from './whole-characters.ts'

type TextKind = 'text' | 'reasoning'
type StreamPart<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>

interface TextBlock {
  readonly kind: TextKind
  readonly text: TextBuffer
  readonly characters: WholeCharacters
  /** Undefined until the first character or metadata: a block that stays empty leaves no trace. */
  index: number | undefined
  metadata: ProviderMetadata | undefined
}

interface CallBlock {
  readonly index: number
  readonly toolCallId: string
  readonly toolName: string
  readonly encoding: 'json' | 'text'
  readonly text: TextBuffer
  readonly characters: WholeCharacters
  readonly flags: { readonly providerExecuted?: true; readonly dynamic?: true }
  inputEnded: boolean
  metadata: ProviderMetadata | undefined
}

/** Turns provider parts into block events and, block by block, into the content of the message. */
export class ContentBuilder {
  readonly #emit: (event: BlockEvent) => void
  readonly #parts: (AssistantPart | undefined)[] = []
  readonly #textBlocks: Record<TextKind, Map<string, TextBlock>> = { text: new Map(), reasoning: new Map() }
  readonly #callBlocks = new Map<string, CallBlock>()
  readonly #callIds = new Set<string>()
  readonly #preliminary = new Map<string, number>()
  #outputLength = 0

  constructor(emit: (event: BlockEvent) => void) {
    this.#emit = emit
  }

  /** UTF-16 length of all text, reasoning and arguments so far. */
  get outputLength(): number {
    return this.#outputLength
  }

  /** The finished parts. Complete only after `closeAll`. */
  content(): AssistantPart[] {
    return this.#parts.filter((part) => part !== undefined)
  }

  textStart(kind: TextKind, id: string, metadata: unknown): void {
    this.textEnd(kind, id, undefined)
    const block = this.#newTextBlock(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
  }

  textDelta(kind: TextKind, id: string, delta: unknown, metadata: unknown): void {
    if (typeof delta !== 'string') throw new MalformedPart(`a ${kind} delta is not a string`)
    const block = this.#textBlocks[kind].get(id) ?? this.#newTextBlock(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
    this.#deliverText(block, block.characters.take(delta))
  }

  textEnd(kind: TextKind, id: string, metadata: unknown, citations?: readonly unknown[]): void {
    const open = this.#textBlocks[kind].get(id)
    const says = metadata !== undefined || citations !== undefined
    if (!open && !says) return
    const block = open ?? this.#newTextBlock(kind, id)
    if (metadata !== undefined) this.#addMetadata(block, metadata)
    if (citations !== undefined) this.#startText(block)
    this.#closeText(id, block, citations)
  }

  callStart(part: StreamPart<'tool-input-start'>): void {
    const open = this.#callBlocks.get(part.id)
    if (open) this.#closeUnfinishedCall(part.id, open)
    this.#openCall(part.id, part.toolName, part.inputEncoding, part)
  }

  callDelta(id: string, delta: unknown, metadata: unknown): void {
    if (typeof delta !== 'string') throw new MalformedPart('a tool input delta is not a string')
    const block = this.#callBlocks.get(id)
    if (!block) throw new MalformedPart('tool input arrived for a call without a name')
    block.metadata = mergeMetadata(block.metadata, metadata)
    this.#deliverInput(block, block.characters.take(delta))
  }

  callInputEnd(id: string, metadata: unknown): void {
    const block = this.#callBlocks.get(id)
    if (!block) return
    block.inputEnded = true
    block.metadata = mergeMetadata(block.metadata, metadata)
  }

  call(part: StreamPart<'tool-call'>): void {
    if (typeof part.input !== 'string') throw new MalformedPart('the input of a tool call is not text')
    const open = this.#callBlocks.get(part.toolCallId)
    const block =
      open ?? this.#openCall(part.toolCallId, part.toolName, undefined, { ...part, providerMetadata: undefined })
    block.metadata = mergeMetadata(block.metadata, part.providerMetadata)
    if (!open || block.text.length === 0) this.#outputLength += part.input.length
    this.#closeCall(
      part.toolCallId,
      { ...block, toolName: part.toolName, flags: { ...block.flags, ...callFlags(part) } },
      parseToolInput(part.input),
    )
  }

  /** A part that arrives whole. A preliminary tool result gives way to the next one of its call. */
  whole(part: WholePart, preliminary?: { readonly of: string; readonly more: boolean }): void {
    const index = (preliminary && this.#preliminary.get(preliminary.of)) ?? this.#parts.length
    this.#parts[index] = part
    if (preliminary?.more) this.#preliminary.set(preliminary.of, index)
    else if (preliminary) this.#preliminary.delete(preliminary.of)
    this.#emit({ type: 'content-part', index, part })
  }

  /** Closes what is open, in the order in which it was opened. */
  closeAll(): void {
    const closings = [
      ...(['text', 'reasoning'] as const).flatMap((kind) =>
        [...this.#textBlocks[kind]].map(([id, block]) => ({
          index: block.index ?? 0,
          close: () => this.#closeText(id, block),
        })),
      ),
      ...[...this.#callBlocks].map(([id, block]) => ({
        index: block.index,
        close: () => this.#closeUnfinishedCall(id, block),
      })),
    ]
    for (const { close } of closings.sort((a, b) => a.index - b.index)) close()
  }

  #newTextBlock(kind: TextKind, id: string): TextBlock {
    const block: TextBlock = { kind, text: new TextBuffer(), characters: new WholeCharacters(), index: undefined, metadata: undefined }
    this.#textBlocks[kind].set(id, block)
    return block
  }

  #addMetadata(block: TextBlock, metadata: unknown): void {
    block.metadata = mergeMetadata(block.metadata, metadata)
    this.#startText(block)
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
    block.text.add(delta)
    this.#outputLength += delta.length
    this.#emit({ type: block.kind === 'text' ? 'text-delta' : 'reasoning-delta', index, delta })
  }

  #deliverInput(block: CallBlock, delta: string): void {
    if (delta === '') return
    block.text.add(delta)
    this.#outputLength += delta.length
    this.#emit({ type: 'tool-call-delta', index: block.index, delta })
  }

  #closeText(id: string, block: TextBlock, citations?: readonly unknown[]): void {
    this.#textBlocks[block.kind].delete(id)
    this.#deliverText(block, block.characters.rest())
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
    const flags = callFlags(from)
    const toolCallId = this.#uniqueCallId(id)
    const block: CallBlock = {
      index: this.#takeIndex(),
      toolCallId,
      toolName,
      encoding: encoding ?? 'json',
      text: new TextBuffer(),
      characters: new WholeCharacters(),
      flags,
      inputEnded: false,
      metadata: mergeMetadata(undefined, from.providerMetadata),
    }
    this.#callBlocks.set(id, block)
    this.#emit({
      type: 'tool-call-start',
      index: block.index,
      toolCallId,
      toolName,
      ...definedOnly({ providerExecuted: flags.providerExecuted, inputEncoding: encoding }),
    })
    return block
  }

  #closeUnfinishedCall(id: string, block: CallBlock): void {
    this.#deliverInput(block, block.characters.rest())
    const text = block.text.toString()
    const finished = block.inputEnded && block.encoding === 'json'
    this.#closeCall(id, block, finished ? parseToolInput(text) : truncatedToolInput(text))
  }

  #closeCall(id: string, block: CallBlock, input: ToolInput): void {
    this.#callBlocks.delete(id)
    const { index, toolCallId, toolName, flags } = block
    const toolCall = {
      type: 'tool-call' as const,
      toolCallId,
      toolName,
      ...input,
      ...flags,
      ...definedOnly({ providerMetadata: block.metadata }),
    }
    this.#parts[index] = toolCall
    this.#emit({ type: 'tool-call-end', index, toolCall })
  }

  #takeIndex(): number {
    return this.#parts.push(undefined) - 1
  }

  #uniqueCallId(id: string): string {
    let unique = id
    for (let n = 2; this.#callIds.has(unique); n++) unique = `${id}~${n}`
    this.#callIds.add(unique)
    return unique
  }
}

interface CallFacts {
  readonly providerExecuted?: boolean | undefined
  readonly dynamic?: boolean | undefined
  readonly providerMetadata?: unknown
}

function callFlags(facts: CallFacts): CallBlock['flags'] {
  return { ...(facts.providerExecuted && { providerExecuted: true }), ...(facts.dynamic && { dynamic: true }) }
}

/** Merged per provider, the later value wins; always a new object, because events may hold the earlier one. */
function mergeMetadata(before: ProviderMetadata | undefined, added: unknown): ProviderMetadata | undefined {
  if (added === undefined || added === null) return before
  const later = toJsonValue(added) as ProviderMetadata
  const merged: ProviderMetadata = { ...before }
  for (const [provider, fields] of Object.entries(later)) merged[provider] = { ...merged[provider], ...fields }
  return merged
}
