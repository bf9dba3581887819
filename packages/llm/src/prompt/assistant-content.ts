import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type {
  AssistantFilePart,
  AssistantMessage,
  AssistantPart,
  AssistantTextPart,
  ProviderToolResultPart,
  RepairCode,
  TextPart,
  ToolCallPart,
} from '../messages.ts'
import { isRenamed } from './call-ids.ts'
import { canBeSent, toPromptFileData, withoutRefusedFiles } from './files.ts'
import { sentMetadata, type Origin } from './hand-off.ts'
import type { HistoryOptions, ModelInput } from './options.ts'
import type { CallsOfMessage } from './pair-calls.ts'
import { SignedReasoning } from './signed-reasoning.ts'
import { wellFormed } from './unicode.ts'

type Content = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type PromptPart = Content[number]

export interface AssistantContext {
  readonly input: ModelInput | undefined
  readonly history: HistoryOptions
  readonly origin: Origin
  /** Calls to send, by their position in the content. */
  readonly calls: CallsOfMessage
  /** Ids of the parts of provider-executed tools to send, by their position in the content. */
  readonly providerParts: ReadonlyMap<number, string>
  /** Whether the message was cut short. Then unsigned reasoning may be incomplete. */
  readonly cutShort: boolean
  /** Whether the provider rejects text of only white space, even if it carries metadata. */
  readonly refusesBlankText: boolean
  readonly note: (code: RepairCode, toolCallId?: string) => undefined
}

/** Returns the parts of an assistant message that may be sent to the called model, in order. */
export function assistantContent(message: AssistantMessage, context: AssistantContext): Content {
  const content = new SignedReasoning<PromptPart>(() => context.note('empty-content'))
  const parts = withoutRefusedFiles<AssistantPart>(message.content, context.input, context.note)
  for (let place = 0; place < parts.length; place++) {
    const part = parts[place]
    if (part === undefined) continue
    const converted = convertPart(part, place, context)
    if (converted) content.add(converted)
    else if (part?.type === 'tool-call') content.lostCall()
  }
  return content.end()
}

/** Converts one part. `place` is its position in the content. */
function convertPart(part: AssistantPart | TextPart, place: number, context: AssistantContext): PromptPart | undefined {
  const { origin, note } = context
  switch (part?.type) {
    case 'text':
      return convertText(part, context)
    case 'reasoning':
      return convertReasoning(part, context)
    case 'tool-call':
      return part.providerExecuted ? convertProviderCall(part, place, context) : convertCall(part, place, context)
    case 'tool-result':
      return convertProviderResult(part, place, context)
    case 'file':
      return convertFile(part, origin)
    case 'reasoning-file':
      if (!origin.same) return note('foreign-part')
      return canBeSent(part.data) ? convertFile(part, origin) : note('file-unsupported')
    case 'custom':
      return origin.same ? { type: 'custom', kind: part.kind, ...sentMetadata(part.providerMetadata, origin) } : note('foreign-part')
    case 'source':
    case 'approval-request':
      return undefined
    default:
      return unknownPart(part, note)
  }
}

function unknownPart(_part: never, note: AssistantContext['note']): undefined {
  return note('foreign-part')
}

function convertFile({ type, mediaType, data, providerMetadata }: AssistantFilePart, origin: Origin): PromptPart {
  return { type, mediaType, data: toPromptFileData(data), ...sentMetadata(providerMetadata, origin) }
}

function convertText(part: AssistantTextPart | TextPart, context: AssistantContext): PromptPart | undefined {
  const { origin, refusesBlankText, note } = context
  const metadata = sentMetadata('providerMetadata' in part ? part.providerMetadata : undefined, origin)
  if (part.text.trim() === '' && (refusesBlankText || !metadata.providerOptions)) return note('empty-content')
  return { type: 'text', text: wellFormed(part.text, () => note('bad-unicode')), ...metadata }
}

function convertReasoning(part: AssistantTextPart, context: AssistantContext): PromptPart | undefined {
  const { origin, note, cutShort, history } = context
  const metadata = sentMetadata(part.providerMetadata, origin)
  // A signature covers the exact text, so signed reasoning is sent back unchanged.
  if (metadata.providerOptions) return { type: 'reasoning', text: part.text, ...metadata }
  if (cutShort) return note('empty-content')
  const text = wellFormed(part.text, () => note('bad-unicode'))
  if (origin.same) return text === '' ? note('empty-content') : { type: 'reasoning', text }
  return history.foreignReasoning === 'text' && text.trim() !== '' ? { type: 'text', text } : note('foreign-part')
}

function convertCall(part: ToolCallPart, place: number, context: AssistantContext): PromptPart | undefined {
  const { origin, note } = context
  const call = context.calls[place]
  if (!call) return note('dropped-call', part.toolCallId)
  if (isRenamed(part.toolCallId, call.toolCallId)) note('renamed-call', part.toolCallId)
  return {
    type: 'tool-call',
    toolCallId: call.toolCallId,
    ...nameAndInput(part, context),
    ...sentMetadata(part.providerMetadata, origin),
  }
}

function convertProviderCall(part: ToolCallPart, place: number, context: AssistantContext): PromptPart | undefined {
  const { origin, note } = context
  if (!origin.same) return note('foreign-part', part.toolCallId)
  const toolCallId = context.providerParts.get(place)
  if (toolCallId === undefined) return note('dropped-call', part.toolCallId)
  if (isRenamed(part.toolCallId, toolCallId)) note('renamed-call', part.toolCallId)
  return {
    type: 'tool-call',
    toolCallId,
    ...nameAndInput(part, context),
    providerExecuted: true,
    ...sentMetadata(part.providerMetadata, origin),
  }
}

function nameAndInput(part: ToolCallPart, { note }: AssistantContext): Pick<ToolCallPart, 'toolName' | 'input'> {
  const noteUnicode = (): undefined => note('bad-unicode', part.toolCallId)
  return {
    toolName: wellFormed(part.toolName, noteUnicode),
    input: part.invalid ? {} : wellFormed(part.input, noteUnicode),
  }
}

function convertProviderResult(
  part: ProviderToolResultPart,
  place: number,
  { origin, note, providerParts }: AssistantContext,
): LanguageModelV4ToolResultPart | undefined {
  if (!origin.same) return note('foreign-part', part.toolCallId)
  const toolCallId = providerParts.get(place)
  if (toolCallId === undefined) return note('orphan-result', part.toolCallId)
  const value = wellFormed(part.result, () => note('bad-unicode', part.toolCallId))
  const output: LanguageModelV4ToolResultPart['output'] = part.isError
    ? { type: 'error-json', value }
    : typeof value === 'string'
      ? { type: 'text', value }
      : { type: 'json', value }
  return {
    type: 'tool-result',
    toolCallId,
    toolName: part.toolName.toWellFormed(),
    output,
    ...sentMetadata(part.providerMetadata, origin),
  }
}
