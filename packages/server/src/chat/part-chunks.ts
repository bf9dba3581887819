import type { ToolExecutionEndEvent } from '@bowline/agent-loop'
import type { AssistantFilePart, ProviderToolResultPart, SourcePart, ToolCallPart, ToolOutput, WholePart } from '@bowline/llm'
import type { Chunks } from './ui-chunk.ts'

/** Returns the chunks of a call whose arguments are complete. */
export function callChunks({ toolCallId, toolName, input, invalid, providerExecuted }: ToolCallPart): Chunks {
  const call = { toolCallId, toolName, input, ...(providerExecuted && { providerExecuted }) } as const
  return invalid === undefined
    ? [{ type: 'tool-input-available', ...call }]
    : [{ type: 'tool-input-error', ...call, errorText: invalidTexts[invalid] }]
}

const invalidTexts: Readonly<Record<NonNullable<ToolCallPart['invalid']>, string>> = {
  truncated: 'The arguments were cut off.',
  'not-json': 'The arguments are not JSON.',
  'not-object': 'The arguments are not an object.',
}

/** Returns the chunks of a complete part. `isKnown` returns true if the message has the call. */
export function wholePartChunks(part: WholePart, isKnown: (toolCallId: string) => boolean): Chunks {
  switch (part.type) {
    case 'file':
    case 'reasoning-file':
      return [{ type: part.type, mediaType: part.mediaType, url: urlOf(part) }]
    case 'source':
      return sourceChunks(part)
    case 'custom':
      return [{ type: 'custom', kind: part.kind }]
    case 'tool-result':
      return isKnown(part.toolCallId) ? providerResultChunks(part) : []
    case 'approval-request':
      // A question of the provider, which cannot be asked in a page.
      return []
    default: {
      const unknown: never = part
      return unknown
    }
  }
}

/** Returns the address of the file, or its data as a `data:` URL. */
export function urlOf({ data, mediaType }: Pick<AssistantFilePart, 'data' | 'mediaType'>): string {
  return data.type === 'url' ? data.url : `data:${mediaType};base64,${data.data}`
}

function sourceChunks({ sourceType, id: sourceId, url, title, mediaType, filename }: SourcePart): Chunks {
  if (sourceType === 'url') return url === undefined ? [] : [{ type: 'source-url', sourceId, url, ...(title !== undefined && { title }) }]
  return [
    {
      type: 'source-document',
      sourceId,
      mediaType: mediaType ?? 'application/octet-stream',
      title: title ?? filename ?? sourceId,
      ...(filename !== undefined && { filename }),
    },
  ]
}

function providerResultChunks({ toolCallId, result, isError }: ProviderToolResultPart): Chunks {
  const call = { toolCallId, providerExecuted: true } as const
  return isError
    ? [{ type: 'tool-output-error', ...call, errorText: textOf(result) }]
    : [{ type: 'tool-output-available', ...call, output: result }]
}

/** Returns the chunks of an outcome. `wasDenied` is true if a person denied the call. The page knows no other denial. */
export function outcomeChunks({ toolCallId, message: { status, output } }: ToolExecutionEndEvent, wasDenied: boolean): Chunks {
  if (status === 'denied' && wasDenied) return [{ type: 'tool-output-denied', toolCallId }]
  const errorText = errorTextOf(output)
  if (errorText !== undefined) return [{ type: 'tool-output-error', toolCallId, errorText }]
  return [{ type: 'tool-output-available', toolCallId, output: 'value' in output ? output.value : null }]
}

function errorTextOf(output: ToolOutput): string | undefined {
  switch (output.type) {
    case 'error-text':
      return output.value
    case 'error-json':
      return textOf(output.value)
    case 'execution-denied':
      return output.reason ?? 'The call was denied.'
    default:
      return undefined
  }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
