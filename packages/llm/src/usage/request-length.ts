import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'

/** Keys whose values the model does not read as text. */
const notText = new Set(['type', 'role', 'data', 'mediaType', 'providerOptions'])

/** UTF-16 length of what a call says to the model: the text of its prompt and its tools, without files. */
export function requestLength({ prompt, tools }: LanguageModelV4CallOptions): number {
  return textLength(prompt) + (tools ? JSON.stringify(tools).length : 0)
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textLength(item), 0)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)?.length ?? 0
  return Object.entries(value).reduce((sum, [key, item]) => (notText.has(key) ? sum : sum + textLength(item)), 0)
}
