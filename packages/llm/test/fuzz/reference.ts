import type { AssistantPart, LanguageModelV4StreamPart } from '../../src/index.ts'
import { asJson } from './values.ts'

type Part<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>
type Metadata = Record<string, Record<string, unknown>>
type TextKind = 'text' | 'reasoning'

interface TextDraft {
  readonly type: TextKind
  text: string
  citations?: unknown
  providerMetadata: Metadata | undefined
}

interface CallDraft {
  readonly type: 'tool-call'
  readonly toolCallId: string
  toolName: string
  text: string
  readonly encoding: string
  inputEnded: boolean
  providerExecuted: boolean
  dynamic: boolean
  input?: object
  providerMetadata: Metadata | undefined
}

export interface Expected {
  readonly content: readonly AssistantPart[]
  /** Whether there was an error among the parts, of the provider or of the contract. */
  readonly failed: boolean
}

/**
 * Computes the expected message for parts with valid shapes, in any order. Kept as simple as possible: whole strings, one list, no
 * events. Of invalid shapes, it supports only those that L9 names.
 */
export function expectedOf(parts: readonly unknown[]): Expected {
  const reference = new Reference()
  for (const part of parts) reference.take(part as LanguageModelV4StreamPart)
  return reference.finished()
}

class Reference {
  readonly #content: object[] = []
  readonly #texts: Record<TextKind, Map<string, TextDraft>> = { text: new Map(), reasoning: new Map() }
  readonly #calls = new Map<string, CallDraft>()
  readonly #preliminary = new Map<string, number>()
  #failed = false

  take(part: LanguageModelV4StreamPart): void {
    if (isMalformed(part) || part.type === 'error') this.#failed = true
    if (this.#failed) return
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#takeText('text', part)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#takeText('reasoning', part)
      case 'tool-input-start':
        this.#closeCall(part.id)
        return void this.#openCall(part.id, part)
      case 'tool-input-delta':
        return this.#callDelta(part)
      case 'tool-input-end':
        return this.#callInputEnd(part)
      case 'tool-call':
        return this.#call(part)
      case 'tool-result':
        return this.#result(part)
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'custom':
      case 'tool-approval-request':
        return void this.#content.push(wholeOf(part))
      default:
    }
  }

  finished(): Expected {
    for (const kind of ['text', 'reasoning'] as const) for (const id of [...this.#texts[kind].keys()]) this.#closeText(kind, id)
    for (const id of [...this.#calls.keys()]) this.#closeCall(id)
    return { content: this.#content.map((draft) => asJson(publicPart(draft)) as AssistantPart), failed: this.#failed }
  }

  #takeText(
    kind: TextKind,
    part: Part<'text-start' | 'text-delta' | 'text-end' | 'reasoning-start' | 'reasoning-delta' | 'reasoning-end'>,
  ): void {
    const { id, type } = part
    const citations = 'citations' in part ? part.citations : undefined
    const isEnd = type.endsWith('-end')
    const open = this.#texts[kind].get(id)
    if (isEnd && !open && part.providerMetadata === undefined && citations === undefined) return
    if (type.endsWith('-start')) this.#closeText(kind, id)
    const draft = this.#texts[kind].get(id) ?? { type: kind, text: '', providerMetadata: undefined }
    this.#texts[kind].set(id, draft)
    draft.providerMetadata = merged(draft.providerMetadata, part.providerMetadata)
    if ('delta' in part) draft.text += part.delta
    if (citations !== undefined) draft.citations = citations
    if (draft.providerMetadata || citations || !/^[\ud800-\udbff]?$/.test(draft.text)) this.#place(draft)
    if (isEnd) this.#closeText(kind, id)
  }

  /** A block gets its position with its first whole character or metadata. */
  #place(draft: TextDraft): void {
    if (!this.#content.includes(draft)) this.#content.push(draft)
  }

  #closeText(kind: TextKind, id: string): void {
    const draft = this.#texts[kind].get(id)
    this.#texts[kind].delete(id)
    if (draft && draft.text !== '') this.#place(draft)
  }

  #openCall(id: string, part: Part<'tool-input-start'> | Part<'tool-call'>): CallDraft {
    const taken = this.#content.flatMap((other) => ('toolCallId' in other && 'encoding' in other ? [other.toolCallId] : []))
    const names = [id, ...taken.map((_, place) => `${id}~${place + 2}`)]
    const draft: CallDraft = {
      type: 'tool-call',
      toolCallId: names.find((name) => !taken.includes(name)) ?? id,
      toolName: part.toolName,
      text: '',
      encoding: ('inputEncoding' in part && part.inputEncoding) || 'json',
      inputEnded: false,
      providerExecuted: part.providerExecuted === true,
      dynamic: part.dynamic === true,
      providerMetadata: part.type === 'tool-call' ? undefined : merged(undefined, part.providerMetadata),
    }
    this.#content.push(draft)
    this.#calls.set(id, draft)
    return draft
  }

  #callDelta({ id, delta, providerMetadata }: Part<'tool-input-delta'>): void {
    const draft = this.#calls.get(id)
    if (!draft) return void (this.#failed = true)
    draft.text += delta
    draft.providerMetadata = merged(draft.providerMetadata, providerMetadata)
  }

  #callInputEnd({ id, providerMetadata }: Part<'tool-input-end'>): void {
    const draft = this.#calls.get(id)
    if (!draft) return
    draft.inputEnded = true
    draft.providerMetadata = merged(draft.providerMetadata, providerMetadata)
  }

  #call(part: Part<'tool-call'>): void {
    const draft = this.#calls.get(part.toolCallId) ?? this.#openCall(part.toolCallId, part)
    this.#calls.delete(part.toolCallId)
    draft.toolName = part.toolName
    draft.providerExecuted ||= part.providerExecuted === true
    draft.dynamic ||= part.dynamic === true
    draft.providerMetadata = merged(draft.providerMetadata, part.providerMetadata)
    draft.input = readInput(part.input)
  }

  #closeCall(id: string): void {
    const draft = this.#calls.get(id)
    this.#calls.delete(id)
    if (!draft) return
    const isWhole = draft.inputEnded && draft.encoding === 'json'
    draft.input = isWhole ? readInput(draft.text) : { input: {}, invalid: 'truncated', inputText: draft.text }
  }

  #result(part: Part<'tool-result'>): void {
    const place = this.#preliminary.get(part.toolCallId) ?? this.#content.length
    const { type, toolCallId, toolName, result } = part
    const said = { isError: part.isError || undefined, providerMetadata: merged(undefined, part.providerMetadata) }
    this.#content[place] = { type, toolCallId, toolName, result: asJson(result), ...said }
    if (part.preliminary) this.#preliminary.set(toolCallId, place)
    else this.#preliminary.delete(toolCallId)
  }
}

/** Rule L9, literally. */
function isMalformed(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return true
  const { type, id, toolCallId, toolName, delta, input } = part as Record<string, unknown>
  if (typeof type !== 'string') return true
  const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''
  if (type.endsWith('-delta')) return typeof delta !== 'string'
  if (type === 'tool-input-start') return !isName(id) || !isName(toolName)
  return type === 'tool-call' && (!isName(toolCallId) || !isName(toolName) || typeof input !== 'string')
}

function readInput(text: string): object {
  if (text.trim() === '') return { input: {} }
  try {
    const input: unknown = JSON.parse(text)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { input }
    return { input: {}, invalid: 'not-object', inputText: text }
  } catch {
    return { input: {}, invalid: 'not-json', inputText: text }
  }
}

function merged(before: Metadata | undefined, added: unknown): Metadata | undefined {
  if (added === undefined) return before
  const all = new Map(Object.entries(before ?? {}))
  for (const [provider, fields] of Object.entries(asJson(added) as Metadata)) {
    all.set(provider, Object.fromEntries([...Object.entries(all.get(provider) ?? {}), ...Object.entries(fields)]))
  }
  return all.size > 0 ? Object.fromEntries(all) : undefined
}

function publicPart(draft: object): object {
  if (!('encoding' in draft)) return draft
  const { type, toolCallId, toolName, input, providerExecuted, dynamic, providerMetadata } = draft as CallDraft
  return {
    type,
    toolCallId,
    toolName,
    ...input,
    providerExecuted: providerExecuted || undefined,
    dynamic: dynamic || undefined,
    providerMetadata,
  }
}

function wholeOf(part: Part<'file' | 'reasoning-file' | 'source' | 'custom' | 'tool-approval-request'>): object {
  const whole = { ...part, providerMetadata: merged(undefined, part.providerMetadata) }
  if (part.type === 'tool-approval-request') return { ...whole, type: 'approval-request' }
  return 'data' in part && part.data.type === 'url' ? { ...whole, data: { type: 'url', url: part.data.url } } : whole
}
