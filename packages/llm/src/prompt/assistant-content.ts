import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type {
  AssistantFilePart,
  AssistantMessage,
  AssistantPart,
  AssistantTextPart,
  ProviderToolResultPart,
  ToolCallPart,
} from '../messages.ts'
import { toPromptFileData } from './file-data.ts'
import { handedOffId, originOf, sentMetadata, type Origin } from './hand-off.ts'
import type { ToPromptOptions } from './options.ts'
import type { PairedCall } from './pair-calls.ts'
import type { Repairs } from './repairs.ts'
import { wellFormed } from './unicode.ts'

type Content = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

export interface AssistantContext {
  readonly model: ToPromptOptions['model']
  readonly foreignReasoning: 'drop' | 'text'
  readonly messageIndex: number
  /** The calls of this message that the prompt keeps. */
  readonly calls: readonly PairedCall[]
  /** Ids of the provider-executed calls that may be sent: answered, or open in a paused last message. */
  readonly providerCalls: ReadonlySet<string>
  /** The message was cut short: reasoning that its provider did not sign cannot be trusted to be whole. */
  readonly cutShort: boolean
  readonly repairs: Repairs
}

/** The parts of an assistant message that the called model may see, in their order. */
export function assistantContent(message: AssistantMessage, context: AssistantContext): Content {
  const origin = originOf(message, context.model)
  return message.content.flatMap((part) => convertPart(part, origin, context) ?? [])
}

function convertPart(part: AssistantPart, origin: Origin, context: AssistantContext): Content[number] | undefined {
  const note = context.repairs.add.bind(context.repairs)
  const foreign = (): undefined => note('foreign-part', context.messageIndex)
  switch (part?.type) {
    case 'text':
      return convertText(part.text, sentMetadata(part.providerMetadata, origin), context)
    case 'reasoning':
      return convertReasoning(part, origin, context)
    case 'tool-call':
      return part.providerExecuted ? convertProviderCall(part, origin, context) : convertCall(part, origin, context)
    case 'tool-result':
      return origin.same ? convertProviderResult(part, origin) : foreign()
    case 'file':
      return convertFile(part, origin, context)
    case 'reasoning-file':
      return origin.same ? convertFile(part, origin, context) : foreign()
    case 'custom':
      return origin.same
        ? { type: 'custom', kind: part.kind, ...sentMetadata(part.providerMetadata, origin) }
        : foreign()
    case 'source':
    case 'approval-request':
      return undefined
    default:
      return unknownPart(part, foreign)
  }
}

function unknownPart(_part: never, foreign: () => undefined): undefined {
  return foreign()
}

function convertFile(part: AssistantFilePart, origin: Origin, context: AssistantContext): Content[number] | undefined {
  const data = toPromptFileData(part.data)
  if (!data) return context.repairs.add('file-unsupported', context.messageIndex)
  return { type: part.type, mediaType: part.mediaType, data, ...sentMetadata(part.providerMetadata, origin) }
}

function convertText(
  text: string,
  metadata: ReturnType<typeof sentMetadata>,
  context: AssistantContext,
): Content[number] | undefined {
  if (text.trim() === '' && !metadata.providerOptions) return context.repairs.add('empty-content', context.messageIndex)
  return {
    type: 'text',
    text: wellFormed(text, () => context.repairs.add('bad-unicode', context.messageIndex)),
    ...metadata,
  }
}

function convertReasoning(
  part: AssistantTextPart,
  origin: Origin,
  context: AssistantContext,
): Content[number] | undefined {
  const metadata = sentMetadata(part.providerMetadata, origin)
  // A signature covers the exact text, so signed reasoning goes back untouched.
  if (metadata.providerOptions) return { type: 'reasoning', text: part.text, ...metadata }
  if (context.cutShort) return undefined
  const text = wellFormed(part.text, () => context.repairs.add('bad-unicode', context.messageIndex))
  if (origin.same)
    return text === '' ? context.repairs.add('empty-content', context.messageIndex) : { type: 'reasoning', text }
  if (context.foreignReasoning === 'text' && text.trim() !== '') return { type: 'text', text }
  return context.repairs.add('foreign-part', context.messageIndex)
}

function convertCall(part: ToolCallPart, origin: Origin, context: AssistantContext): Content[number] | undefined {
  const call = context.calls.find((candidate) => candidate.part === part)
  if (!call) return undefined
  return {
    type: 'tool-call',
    toolCallId: handedOffId(call.toolCallId, origin),
    toolName: part.toolName,
    input: part.invalid
      ? {}
      : wellFormed(part.input, () => context.repairs.add('bad-unicode', context.messageIndex, part.toolCallId)),
    ...sentMetadata(part.providerMetadata, origin),
  }
}

function convertProviderCall(
  part: ToolCallPart,
  origin: Origin,
  context: AssistantContext,
): Content[number] | undefined {
  const { toolCallId, toolName, input } = part
  if (!origin.same) return context.repairs.add('foreign-part', context.messageIndex, toolCallId)
  if (!context.providerCalls.has(toolCallId))
    return context.repairs.add('dropped-call', context.messageIndex, toolCallId)
  return {
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
    providerExecuted: true,
    ...sentMetadata(part.providerMetadata, origin),
  }
}

function convertProviderResult(part: ProviderToolResultPart, origin: Origin): LanguageModelV4ToolResultPart {
  const { toolCallId, toolName, result } = part
  const output: LanguageModelV4ToolResultPart['output'] = part.isError
    ? { type: 'error-json', value: result }
    : typeof result === 'string'
      ? { type: 'text', value: result }
      : { type: 'json', value: result }
  return { type: 'tool-result', toolCallId, toolName, output, ...sentMetadata(part.providerMetadata, origin) }
}
