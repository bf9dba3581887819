import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ContentPart, RepairCode, UserMessage } from '../messages.ts'
import { contentPart } from './content-part.ts'
import { withoutRefusedFiles } from './files.ts'
import type { ModelInput } from './options.ts'

type Content = Extract<LanguageModelV4Message, { role: 'user' }>['content']
type Note = (code: RepairCode) => undefined

/** What a user's message says to the called model; nothing if nothing of it can be sent. */
export function userContent({ content }: UserMessage, input: ModelInput | undefined, note: Note): Content {
  const given: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return withoutRefusedFiles(given, input, note).flatMap((part) =>
    part === undefined ? [] : (contentPart(part, note) ?? []),
  )
}
