import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { WholePart } from '../events.ts'
import { definedOnly, toJsonValue } from '../json.ts'
import type { FileData, ProviderMetadata } from '../messages.ts'

/** The provider parts that arrive whole. */
export type WholeStreamPart = Extract<
  LanguageModelV4StreamPart,
  { type: 'tool-result' | 'file' | 'reasoning-file' | 'source' | 'custom' | 'tool-approval-request' }
>

/** The plain JSON form of a part that arrives whole. */
export function toWholePart(part: WholeStreamPart): WholePart {
  const { providerMetadata: given } = part
  const providerMetadata = given && (toJsonValue(given) as ProviderMetadata)
  switch (part.type) {
    case 'tool-result': {
      const { type, toolCallId, toolName } = part
      const isError = part.isError ? (true as const) : undefined
      return {
        type,
        toolCallId,
        toolName,
        result: toJsonValue(part.result),
        ...definedOnly({ isError, providerMetadata }),
      }
    }
    case 'file':
    case 'reasoning-file': {
      const { type, mediaType } = part
      return { type, mediaType, data: toFileData(part.data), ...definedOnly({ providerMetadata }) }
    }
    case 'source': {
      const { type, sourceType, id } = part
      const facts =
        part.sourceType === 'url'
          ? { url: part.url, title: part.title }
          : { mediaType: part.mediaType, title: part.title, filename: part.filename }
      return { type, sourceType, id, ...definedOnly({ ...facts, providerMetadata }) }
    }
    case 'custom':
      return { type: 'custom', kind: part.kind, ...definedOnly({ providerMetadata }) }
    case 'tool-approval-request': {
      const { approvalId, toolCallId } = part
      return { type: 'approval-request', approvalId, toolCallId, ...definedOnly({ providerMetadata }) }
    }
  }
}

function toFileData(data: Extract<WholeStreamPart, { type: 'file' }>['data']): FileData {
  if (data.type === 'url') return { type: 'url', url: data.originalUrl ?? data.url.href }
  return { type: 'data', data: typeof data.data === 'string' ? data.data : (toJsonValue(data.data) as string) }
}
