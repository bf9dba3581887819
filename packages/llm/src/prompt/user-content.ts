import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ContentPart, RepairCode, UserMessage } from '../messages.ts'
import { toPromptFile, withoutRefusedFiles } from './files.ts'
import type { ModelInput } from './options.ts'
import { wellFormed } from './unicode.ts'

type Content = Extract<LanguageModelV4Message, { role: 'user' }>['content']
type Note = (code: RepairCode) => undefined

/** What a user's message says to the called model; nothing if nothing of it can be sent. */
export function userContent({ content }: UserMessage, input: ModelInput | undefined, note: Note): Content {
  const given: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return withoutRefusedFiles(given, input, note).flatMap((part) =>
    part === undefined ? [] : (convertPart(part, note) ?? []),
  )
}

function convertPart(part: ContentPart, note: Note): Content[number] | undefined {
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

function unknownPart(_part: never, note: Note): undefined {
  return note('foreign-part')
}
