import type { LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { ContentItem, RepairCode, ToolOutput } from '../messages.ts'
import { contentPart } from './content-part.ts'
import { withoutRefusedFiles } from './files.ts'
import type { ModelInput } from './options.ts'
import { wellFormed } from './unicode.ts'

type PromptOutput = LanguageModelV4ToolResultPart['output']
type PromptItem = Extract<PromptOutput, { type: 'content' }>['value'][number]

export interface ToolOutputContext {
  readonly input: ModelInput | undefined
  /** Whether the provider requires one response per call while its client creates one response per text. */
  readonly wantsOneText: boolean
  readonly note: (code: RepairCode) => undefined
}

export const missingResult: ToolOutput = { type: 'error-text', value: 'No result was recorded for this call.' }

export function toolOutput(output: ToolOutput, context: ToolOutputContext): PromptOutput {
  const noteUnicode = (): undefined => context.note('bad-unicode')
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: wellFormed(output.value, noteUnicode) }
    case 'json':
    case 'error-json':
      return { type: output.type, value: wellFormed(output.value, noteUnicode) }
    case 'execution-denied':
      return {
        type: output.type,
        ...(output.reason !== undefined && { reason: wellFormed(output.reason, noteUnicode) }),
      }
    case 'content':
      return contentOutput(output.value, context)
    default:
      return unknownOutput(output, context)
  }
}

function unknownOutput(_output: never, context: ToolOutputContext): PromptOutput {
  context.note('foreign-part')
  return toolOutput(missingResult, context)
}

/** A result must not be empty: some clients send no response for an empty list. */
function contentOutput(items: readonly ContentItem[], context: ToolOutputContext): PromptOutput {
  const kept = withoutRefusedFiles(items, context.input, context.note)
  const value = kept.flatMap((item) => (item === undefined ? [] : (contentPart(item, context.note) ?? [])))
  if (value.length === 0) return { type: 'text', value: '' }
  return { type: 'content', value: context.wantsOneText ? withOneText(value) : value }
}

function withOneText(items: readonly PromptItem[]): PromptItem[] {
  const texts = items.flatMap((item) => (item.type === 'text' ? [item.text] : []))
  if (texts.length === 1) return [...items]
  const text = texts.length === 0 ? 'The result is attached.' : texts.join('\n')
  return [{ type: 'text', text }, ...items.filter((item) => item.type !== 'text')]
}
