import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { WholePart } from '../events.ts'
import { definedOnly, toJsonValue } from '../json.ts'
import type { CustomPart, FileData, SourcePart } from '../messages.ts'
import { MalformedPart } from './malformed-part.ts'
import { neededText, textOrNothing } from './part-fields.ts'
import { mergeMetadata } from './provider-metadata.ts'

/** Provider parts that arrive whole. */
export type WholeStreamPart = Extract<
  LanguageModelV4StreamPart,
  { type: 'tool-result' | 'file' | 'reasoning-file' | 'source' | 'custom' | 'tool-approval-request' }
>

/** Returns the plain JSON form of a whole part. Throws `MalformedPart` if a required field is missing. */
export function toWholePart(part: WholeStreamPart): WholePart {
  const providerMetadata = mergeMetadata(undefined, part.providerMetadata)
  const text = (name: string): string => neededText(part, name)
  switch (part.type) {
    case 'tool-result': {
      const isError = part.isError ? (true as const) : undefined
      const [toolCallId, toolName, result] = [text('toolCallId'), text('toolName'), toJsonValue(part.result)]
      return { type: part.type, toolCallId, toolName, result, ...definedOnly({ isError, providerMetadata }) }
    }
    case 'file':
    case 'reasoning-file': {
      const mediaType = text('mediaType')
      return { type: part.type, mediaType, data: toFileData(part.data), ...definedOnly({ providerMetadata }) }
    }
    case 'source':
      return { type: part.type, id: text('id'), ...sourceFacts(part), ...definedOnly({ providerMetadata }) }
    case 'custom':
      return { type: part.type, kind: text('kind') as CustomPart['kind'], ...definedOnly({ providerMetadata }) }
    case 'tool-approval-request': {
      const [approvalId, toolCallId] = [text('approvalId'), text('toolCallId')]
      return { type: 'approval-request', approvalId, toolCallId, ...definedOnly({ providerMetadata }) }
    }
  }
}

type Source = Extract<WholeStreamPart, { type: 'source' }>

function sourceFacts(part: Source): Omit<SourcePart, 'type' | 'id' | 'providerMetadata'> {
  const title = textOrNothing(part.title)
  switch (part.sourceType) {
    case 'url':
      return { sourceType: part.sourceType, ...definedOnly({ url: textOrNothing(part.url), title }) }
    case 'document': {
      const [mediaType, filename] = [textOrNothing(part.mediaType), textOrNothing(part.filename)]
      return { sourceType: part.sourceType, ...definedOnly({ mediaType, title, filename }) }
    }
    default:
      part satisfies never
      throw new MalformedPart('a source is neither a URL nor a document')
  }
}

function toFileData(data: Extract<WholeStreamPart, { type: 'file' }>['data']): FileData {
  switch (data?.type) {
    case 'url': {
      const url = textOrNothing(data.originalUrl) ?? textOrNothing(data.url?.href)
      if (url !== undefined) return { type: 'url', url }
      break
    }
    case 'data': {
      const bytes = toJsonValue(data.data)
      if (typeof bytes === 'string') return { type: 'data', data: bytes }
    }
  }
  throw new MalformedPart('a file has neither data nor a URL')
}
