import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ContentPart, RepairCode } from '../messages.ts'
import { toPromptFile } from './files.ts'
import { wellFormed } from './unicode.ts'

/** Content of user messages and tool results: text and files. */
type PromptContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]

/** Converts a part for sending. Returns undefined for empty parts and unknown types. */
export function contentPart(part: ContentPart, note: (code: RepairCode) => undefined): PromptContent | undefined {
  switch (part?.type) {
    case 'text':
      if (part.text.trim() === '') return note('empty-content')
      return {
        type: 'text',
        text: wellFormed(part.text, () => note('bad-unicode')),
        ...(part.providerOptions && { providerOptions: part.providerOptions }),
      }
    case 'file':
      return toPromptFile(part)
    default:
      return unknownPart(part, note)
  }
}

function unknownPart(_part: never, note: (code: RepairCode) => undefined): undefined {
  return note('foreign-part')
}
