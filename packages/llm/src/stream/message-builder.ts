import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { modelError } from '../errors/error-kinds.ts'
import type { MessageEvent } from '../events.ts'
import { isRecord } from '../arguments.ts'
import { definedOnly, toJsonValue } from '../json.ts'
import type { AssistantMessage, AssistantPart, ProviderMetadata, Repair, Usage, Warning } from '../messages.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import { costAt } from '../usage/cost.ts'
import type { Tariff } from '../usage/price.ts'
import { completeUsage, estimateMissing, noUsage, reportedUsage } from '../usage/usage.ts'
import { announcedUsage } from './announcement.ts'
import { ContentBuilder } from './content-builder.ts'
import { MalformedPart } from './malformed-part.ts'
import { textOrNothing } from './part-fields.ts'
import { mergeMetadata } from './provider-metadata.ts'
import { stopVerdict } from './stop-reason.ts'
import { toWholePart } from './whole-part.ts'

export interface MessageFacts {
  readonly messageId: string
  readonly provider: string
  readonly modelId: string
  readonly at: number
}

/** Facts about the called model. */
export interface ModelFacts {
  readonly tariff: Tariff | undefined
  readonly contextWindow: number | undefined
}

/** State after the parts so far: more content may come, the call has failed, or it has finished. */
export type Progress = 'content' | 'failed' | 'finished'

/** An abort from outside. */
export interface Abort {
  readonly abortReason: string | undefined
}

export interface BuilderTools {
  now(): number
  emit(event: MessageEvent): void
  classify(error: unknown, phase: ModelError['phase']): ModelError
}

export interface RequestFacts {
  readonly repairs: readonly Repair[]
  /** Returns the UTF-16 length of the request. Called only if the provider reported no input tokens. */
  inputLength(): number
}

/** State of one message. Takes provider parts, emits events, and returns the message at the end. */
export class MessageBuilder {
  readonly #facts: MessageFacts
  readonly #model: ModelFacts
  readonly #tools: BuilderTools
  readonly #content: ContentBuilder
  readonly #warnings: Warning[] = []
  #unknownTypes: Set<string> | undefined
  #request: RequestFacts | undefined
  #response: { id?: string; modelId?: string; requestId?: string } = {}
  #accepted = false
  #usage: Usage = {}
  #finish: LanguageModelV4FinishReason | undefined
  #metadata: ProviderMetadata | undefined
  #error: ModelError | undefined
  #firstDeltaAt: number | undefined

  constructor(facts: MessageFacts, model: ModelFacts, tools: BuilderTools) {
    this.#facts = facts
    this.#model = model
    this.#tools = tools
    this.#content = new ContentBuilder((event) => {
      this.#firstDeltaAt ??= tools.now()
      tools.emit(event)
    })
  }

  get progress(): Progress {
    return this.#finish ? 'finished' : this.#error ? 'failed' : 'content'
  }

  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  /** Whether any content has been delivered. */
  get phase(): ModelError['phase'] {
    return this.#firstDeltaAt === undefined ? 'before-output' : 'after-output'
  }

  start(): void {
    this.#tools.emit({ type: 'message-start', ...this.#facts })
  }

  requested(request: RequestFacts): void {
    this.#request = request
  }

  /** The provider accepted the call; from here on it may cost money. */
  accepted(headers: Readonly<Record<string, string>> | undefined): void {
    this.#accepted = true
    const requestId = headers?.['x-request-id'] ?? headers?.['request-id']
    if (requestId !== undefined) this.#response.requestId = requestId
  }

  /** Fast path for most parts: returns the event of a part that only continues the current block. */
  furtherDelta(part: unknown): MessageEvent | undefined {
    try {
      return this.progress === 'content' && isRecord(part) ? this.#content.furtherDelta(part) : undefined
    } catch {
      // The part cannot be read; `accept` reports why.
      return undefined
    }
  }

  accept(part: unknown): void {
    try {
      if (!isRecord(part) || typeof part['type'] !== 'string') throw new MalformedPart('a part of the stream is not an object with a type')
      this.#apply(part as LanguageModelV4StreamPart)
    } catch (error) {
      const said = error instanceof Error ? error.message : 'a part of the stream could not be read'
      this.fail(this.#errorOf('malformed-response', said))
    }
  }

  /** Keeps the first error; later parts are not content any more. */
  fail(error: ModelError): void {
    this.#error ??= error
  }

  /** Closes open blocks and returns the message. An abort after the finish is ignored. */
  end(abort?: Abort): AssistantMessage {
    this.#content.closeAll()
    const content = this.#content.content()
    const aborted = abort && !this.#finish ? abort : undefined
    const outcome = aborted
      ? { stopReason: 'aborted' as const, ...definedOnly({ abortReason: aborted.abortReason }) }
      : this.#outcome(content)
    const usage = this.#finalUsage(outcome.stopReason)
    const { tariff } = this.#model
    this.#checkWindow(usage)
    const now = this.#tools.now()
    const message: AssistantMessage = {
      role: 'assistant',
      id: this.#facts.messageId,
      content,
      provider: this.#facts.provider,
      modelId: this.#facts.modelId,
      ...outcome,
      ...definedOnly({ rawStopReason: this.#finish?.raw }),
      usage,
      ...definedOnly({ cost: tariff && costAt(usage, tariff) }),
      ...this.#extras(),
      at: this.#facts.at,
      timing: {
        totalMs: now - this.#facts.at,
        ...definedOnly({
          firstDeltaMs: this.#firstDeltaAt === undefined ? undefined : this.#firstDeltaAt - this.#facts.at,
        }),
      },
    }
    this.#tools.emit({ type: 'message-end', message })
    return message
  }

  #apply(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'finish':
        return this.#applyFinish(part)
      case 'error':
        return this.fail(this.#tools.classify(part.error, this.phase))
      case 'stream-start':
        return this.#applyWarnings(part.warnings)
      case 'response-metadata':
        return void Object.assign(this.#response, definedOnly({ id: textOrNothing(part.id), modelId: textOrNothing(part.modelId) }))
      case 'ping':
      case 'raw':
        return
      default:
        if (this.#error === undefined) this.#applyContent(part)
    }
  }

  #applyCustom(part: Extract<LanguageModelV4StreamPart, { type: 'custom' }>): void {
    const announced = announcedUsage(part)
    if (announced) this.#usage = { ...this.#usage, ...announced }
    else this.#content.whole(toWholePart(part))
  }

  #applyContent(part: ContentStreamPart): void {
    const content = this.#content
    switch (part.type) {
      case 'text-delta':
        return content.textDelta('text', part.id, part.delta, part.providerMetadata)
      case 'reasoning-delta':
        return content.textDelta('reasoning', part.id, part.delta, part.providerMetadata)
      case 'tool-input-delta':
        return content.callDelta(part.id, part.delta, part.providerMetadata)
      case 'text-start':
        return content.textStart('text', part.id, part.providerMetadata)
      case 'text-end':
        return content.textEnd('text', part.id, part.providerMetadata, part.citations)
      case 'reasoning-start':
        return content.textStart('reasoning', part.id, part.providerMetadata)
      case 'reasoning-end':
        return content.textEnd('reasoning', part.id, part.providerMetadata)
      case 'tool-input-start':
        return content.callStart(part)
      case 'tool-input-end':
        return content.callInputEnd(part.id, part.providerMetadata)
      case 'tool-call':
        return content.call(part)
      case 'tool-result':
        return content.whole(toWholePart(part), { of: part.toolCallId, more: part.preliminary === true })
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'tool-approval-request':
        return content.whole(toWholePart(part))
      case 'custom':
        return this.#applyCustom(part)
      default:
        return this.#skipUnknown(part)
    }
  }

  #skipUnknown(part: never): void {
    const { type } = part as { type: string }
    this.#unknownTypes ??= new Set()
    if (this.#unknownTypes.has(type)) return
    this.#unknownTypes.add(type)
    this.#warnings.push({ type: 'other', message: `a stream part of the unknown type "${type}" was skipped` })
  }

  #applyWarnings(warnings: unknown): void {
    if (!Array.isArray(warnings)) return
    for (const warning of warnings.filter(isRecord)) this.#warnings.push(toJsonValue(warning) as unknown as Warning)
  }

  #applyFinish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): void {
    const { usage, providerMetadata, finishReason } = part
    if (usage) this.#usage = { ...this.#usage, ...reportedUsage(usage) }
    this.#metadata = mergeMetadata(undefined, providerMetadata) ?? this.#metadata
    if (!isRecord(finishReason)) throw new MalformedPart('the answer ends without a reason')
    this.#finish = { unified: finishReason.unified, raw: textOrNothing(finishReason.raw) }
  }

  #outcome(content: readonly AssistantPart[]): Pick<AssistantMessage, 'stopReason' | 'error' | 'paused'> {
    // Half a surrogate pair may have been emitted only now, which changes the phase.
    if (this.#error) return { stopReason: 'error', error: inPhase(this.#error, this.phase) }
    const calls = content.filter((part) => part.type === 'tool-call')
    const providerCalls = calls.filter((call) => call.providerExecuted).length
    const verdict = stopVerdict({
      finish: this.#finish,
      clientCalls: calls.length - providerCalls,
      providerCalls,
      parts: content.length,
      inputTokens: this.#usage.inputTokens,
      outputTokens: this.#usage.outputTokens,
      contextWindow: this.#model.contextWindow,
    })
    if (verdict.stopReason !== 'error') return verdict
    const { kind, message, retryable } = verdict
    return { stopReason: 'error', error: this.#errorOf(kind, message, retryable) }
  }

  /** Warns if the provider silently truncated the prompt: it counted more input than the window holds and reported no error. */
  #checkWindow({ inputTokens = 0, estimated }: Usage): void {
    const { contextWindow = Infinity } = this.#model
    if (this.#finish?.unified !== 'stop' || estimated || inputTokens <= contextWindow) return
    const message = `context-window-exceeded: ${inputTokens} input tokens, but the window has ${contextWindow}`
    this.#warnings.push({ type: 'other', message })
  }

  #finalUsage(stopReason: AssistantMessage['stopReason']): Usage {
    if (!this.#accepted) return noUsage()
    const cutShort = stopReason === 'aborted' || stopReason === 'error'
    if (!cutShort) return completeUsage(this.#usage)
    const inputLength = this.#usage.inputTokens === undefined ? this.#inputLength() : 0
    return completeUsage(estimateMissing(this.#usage, { inputLength, outputLength: this.#content.outputLength }))
  }

  #inputLength(): number {
    try {
      return this.#request?.inputLength() ?? 0
    } catch {
      // Values that only an in-process model accepts, such as a bigint, have no length. The call must end nevertheless.
      return 0
    }
  }

  #extras(): Pick<AssistantMessage, 'response' | 'providerMetadata' | 'warnings' | 'repairs'> {
    const repairs = this.#request?.repairs ?? []
    return definedOnly({
      response: Object.keys(this.#response).length > 0 ? { ...this.#response } : undefined,
      providerMetadata: this.#metadata,
      warnings: this.#warnings.length > 0 ? [...this.#warnings] : undefined,
      repairs: repairs.length > 0 ? repairs : undefined,
    })
  }

  #errorOf(kind: ErrorKind, message: string, retryable?: boolean): ModelError {
    const { provider, modelId } = this.#facts
    return modelError(kind, message, { provider, modelId, retryable, phase: this.phase })
  }
}

/** Returns a copy that keeps the non-enumerable `cause`. */
function inPhase(error: ModelError, phase: ModelError['phase']): ModelError {
  const copy = { ...error, phase }
  return 'cause' in error ? Object.defineProperty(copy, 'cause', { value: error.cause, enumerable: false }) : copy
}

type ContentStreamPart = Exclude<
  LanguageModelV4StreamPart,
  { type: 'finish' | 'error' | 'stream-start' | 'response-metadata' | 'ping' | 'raw' }
>
