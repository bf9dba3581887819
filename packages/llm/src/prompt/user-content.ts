import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ContentPart, RepairCode, UserMessage } from '../messages.ts'
import { contentPart } from './content-part.ts'
import { withoutRefusedFiles } from './files.ts'
import type { ModelInput } from './options.ts'

type Content = Extract<LanguageModelV4Message, { role: 'user' }>['content']
type Note = (code: RepairCode) => undefined

/** Returns the content of a user message for the called model; empty if nothing can be sent. */
export function userContent({ content }: UserMessage, input: ModelInput | undefined, note: Note): Content {
  const given: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return withoutRefusedFiles(given, input, note).flatMap((part) => (part === undefined ? [] : (contentPart(part, note) ?? [])))
}
