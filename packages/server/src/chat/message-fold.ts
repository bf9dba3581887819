import type { UiChunk } from './ui-chunk.ts'

/** Part of an AI SDK message, as JSON. */
export type UiPart = { type: string } & Record<string, unknown>

export interface UiMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: object
  readonly parts: readonly UiPart[]
}

type ChunkOf<Type extends UiChunk['type']> = Extract<UiChunk, { readonly type: Type }>
type CallChunk = { readonly toolCallId: string; readonly toolName?: string; readonly providerExecuted?: true }

/**
 * Builds the parts of a message from its chunks, as the AI SDK does in a page. The input of a call that is still being written
 * stays text (`rawInput`).
 */
export class MessageFold {
  readonly parts: UiPart[] = []
  /** Open texts by id. */
  readonly #texts = new Map<string, UiPart & { text: string }>()

  push(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start':
        return this.#startText(chunk)
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.#texts.get(chunk.id)
        if (part) part.text += chunk.delta
        return
      }
      case 'text-end':
      case 'reasoning-end':
        return this.#endText(chunk.id)
      case 'tool-input-start':
        return this.#setCall(this.#ofStep(chunk), chunk, { state: 'input-streaming' })
      case 'tool-input-delta':
        return this.#goOn(chunk)
      case 'tool-input-available':
        return this.#setCall(this.#ofStep(chunk), chunk, { state: 'input-available', input: chunk.input })
      case 'tool-input-error':
        return this.#setCall(this.#ofStep(chunk), chunk, { state: 'output-error', input: chunk.input, errorText: chunk.errorText })
      case 'tool-output-available':
        return this.#settle(chunk, { state: 'output-available', output: chunk.output })
      case 'tool-output-error':
        return this.#settle(chunk, { state: 'output-error', errorText: chunk.errorText })
      case 'tool-output-denied':
        return this.#patch(this.#call(chunk), { state: 'output-denied' })
      case 'tool-approval-request':
        return this.#ask(chunk)
      case 'tool-approval-response':
        return this.#answer(chunk)
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'reasoning-file':
      case 'custom':
        this.parts.push({ ...chunk })
        return
      case 'start-step':
        this.parts.push({ type: 'step-start' })
        return
      case 'reset-step':
        this.parts.length = this.#stepStart
        this.#texts.clear()
        return
      case 'start':
      case 'finish-step':
      case 'finish':
      case 'abort':
      case 'error':
        return
      default:
        return this.#setData(chunk)
    }
  }

  /** Returns true if the message asks the question that the chunk answers. */
  asksFor(chunk: UiChunk): boolean {
    if ('approvalId' in chunk) return this.#question(chunk.approvalId)?.['state'] === 'approval-requested'
    return 'toolCallId' in chunk && this.#call(chunk)?.['state'] === 'input-available'
  }

  #startText({ type, id }: ChunkOf<'text-start' | 'reasoning-start'>): void {
    const part =
      type === 'text-start' ? { type: 'text', text: '', state: 'streaming' } : { type: 'reasoning', id, text: '', state: 'streaming' }
    this.#texts.set(id, part)
    this.parts.push(part)
  }

  #endText(id: string): void {
    this.#patch(this.#texts.get(id), { state: 'done' })
    this.#texts.delete(id)
  }

  #goOn({ toolCallId, inputTextDelta }: ChunkOf<'tool-input-delta'>): void {
    const part = this.#ofStep({ toolCallId })
    const { rawInput = '' } = (part ?? {}) as { readonly rawInput?: string }
    this.#setCall(part, { toolCallId }, { state: 'input-streaming', rawInput: rawInput + inputTextDelta })
  }

  #settle(chunk: CallChunk, outcome: object): void {
    const part = this.#call(chunk)
    if (part) this.#setCall(part, chunk, { input: part['input'], ...outcome })
  }

  /** Replaces input and output of a call by those of the chunk. Provider execution and approval stay. */
  #setCall(part: UiPart | undefined, { toolCallId, toolName, providerExecuted }: CallChunk, fields: object): void {
    const call = part ?? { type: `tool-${toolName}`, toolCallId }
    for (const name of ['input', 'output', 'errorText', 'rawInput']) delete call[name]
    this.#patch(call, { ...(providerExecuted && { providerExecuted }), ...fields })
    if (!part) this.parts.push(call)
  }

  #ask({ toolCallId, approvalId: id, reason }: ChunkOf<'tool-approval-request'>): void {
    const approval = { id, ...(reason !== undefined && { requestReason: reason }) }
    this.#patch(this.#call({ toolCallId }), { state: 'approval-requested', approval })
  }

  #answer({ approvalId: id, approved, reason }: ChunkOf<'tool-approval-response'>): void {
    const part = this.#question(id)
    const approval = { ...(part?.['approval'] as object | undefined), id, approved, ...(reason !== undefined && { reason }) }
    this.#patch(part, { state: 'approval-responded', approval })
  }

  #question(approvalId: string): UiPart | undefined {
    return this.parts.find(({ approval }) => (approval as { readonly id?: string } | undefined)?.id === approvalId)
  }

  #setData({ transient, ...chunk }: ChunkOf<`data-${string}`>): void {
    if (transient) return
    const part = chunk.id === undefined ? undefined : this.parts.find(({ type, id }) => type === chunk.type && id === chunk.id)
    if (part) part['data'] = chunk.data
    else this.parts.push(chunk)
  }

  #patch(part: UiPart | undefined, fields: object): void {
    if (part) Object.assign(part, fields)
  }

  /** Index after the last step boundary. */
  get #stepStart(): number {
    return this.parts.findLastIndex(({ type }) => type === 'step-start') + 1
  }

  #ofStep({ toolCallId }: Pick<CallChunk, 'toolCallId'>): UiPart | undefined {
    return this.parts.slice(this.#stepStart).find((part) => part['toolCallId'] === toolCallId)
  }

  #call(chunk: Pick<CallChunk, 'toolCallId'>): UiPart | undefined {
    return this.#ofStep(chunk) ?? this.parts.findLast((part) => part['toolCallId'] === chunk.toolCallId)
  }
}
