import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { toJsonValue } from '../json.ts'
import type { AssistantMessage, AssistantPart } from '../messages.ts'

// Prompts and answers in the JSON form of OpenTelemetry's conventions for generative AI.

interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

interface ConversationMessage {
  readonly role: string
  readonly parts: readonly Part[]
}

interface OutputMessage extends ConversationMessage {
  readonly finish_reason: string
}

type Content<Message> = Message extends { content: readonly (infer Item)[] } ? Item : never
type AnyPart = Content<LanguageModelV4Message> | AssistantPart
type FilePart = Extract<AnyPart, { type: 'file' | 'reasoning-file' }>

export function inputMessages(prompt: LanguageModelV4Prompt): ConversationMessage[] {
  return prompt.map(({ role, content }) => ({
    role,
    parts: typeof content === 'string' ? [{ type: 'text', content }] : content.map((part) => toPart(part, role)),
  }))
}

export function outputMessages(message: AssistantMessage): OutputMessage[] {
  const parts = message.content.map((part) => toPart(part, 'assistant'))
  return [{ role: 'assistant', parts, finish_reason: finishReason(message) }]
}

/** Returns the stop reason in the wording of the conventions, which lack one for aborted calls. */
export function finishReason({ stopReason, error }: AssistantMessage): string {
  switch (stopReason) {
    case 'stop':
    case 'length':
    case 'aborted':
      return stopReason
    case 'tool-calls':
      return 'tool_call'
    case 'error':
      return error?.kind === 'content-blocked' ? 'content_filter' : 'error'
    default:
      return stopReason satisfies never
  }
}

function toPart(part: AnyPart, role: string): Part {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text }
    case 'tool-call':
      return callPart(part)
    case 'tool-result': {
      const response = 'output' in part ? outputValue(part.output) : part.result
      return responsePart(part, response, role)
    }
    case 'file':
    case 'reasoning-file':
      return filePart(part)
    case 'source':
    case 'custom':
    case 'approval-request':
    case 'tool-approval-response':
      return withoutVendorData(part)
    default:
      return part satisfies never
  }
}

function callPart(part: Extract<AnyPart, { type: 'tool-call' }>): Part {
  const { toolCallId: id, toolName: name } = part
  const args = 'inputText' in part ? part.inputText : part.input
  if (!part.providerExecuted) return { type: 'tool_call', id, name, arguments: args }
  return { type: 'server_tool_call', id, name, server_tool_call: { type: name, arguments: args } }
}

/** A result inside an assistant message comes from a provider-executed tool. */
function responsePart(part: { toolCallId: string; toolName: string }, response: unknown, role: string): Part {
  const id = part.toolCallId
  if (role === 'tool') return { type: 'tool_call_response', id, response }
  return { type: 'server_tool_call_response', id, server_tool_call_response: { type: part.toolName, response } }
}

function outputValue(output: LanguageModelV4ToolResultOutput): unknown {
  switch (output.type) {
    case 'text':
    case 'error-text':
    case 'json':
    case 'error-json':
      return output.value
    case 'content':
      return output.value.map((item) => (item.type === 'custom' ? withoutVendorData(item) : toPart(item, 'tool')))
    case 'execution-denied':
      return withoutVendorData(output)
    default:
      return output satisfies never
  }
}

function filePart({ mediaType, data }: FilePart): Part {
  const about = { mime_type: mediaType, modality: modalityOf(mediaType) }
  switch (data.type) {
    case 'data':
      return { type: 'blob', ...about, content: toJsonValue(data.data) }
    case 'url':
      return { type: 'uri', ...about, uri: data.url }
    case 'reference':
      return { type: 'file', ...about, file_id: Object.values(data.reference).join(' ') }
    case 'text':
      return { type: 'text', content: data.text, mime_type: mediaType }
    default:
      return data satisfies never
  }
}

function modalityOf(mediaType: string): string {
  const kind = mediaType.split('/')[0] ?? ''
  return ['image', 'video', 'audio'].includes(kind) ? kind : 'document'
}

/** Removes signatures and ids of the vendor, which are meaningless to readers. */
function withoutVendorData<P extends { readonly type: string }>(part: P): Part {
  const vendorData = ['providerMetadata', 'providerOptions']
  const entries = Object.entries(part).filter(([key]) => !vendorData.includes(key))
  return { ...Object.fromEntries(entries), type: part.type }
}
