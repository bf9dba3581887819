import type { UserMessage } from '@bowline/llm'
import type { UiPart } from './message-fold.ts'
import { urlOf } from './part-chunks.ts'

/** Returns the parts of a user message as the page that sent it made them. */
export function userParts({ content }: UserMessage): UiPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'file', mediaType: part.mediaType, url: urlOf(part), ...(part.filename !== undefined && { filename: part.filename }) },
  )
}
