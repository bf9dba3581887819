import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'

/** Keys whose values the model does not read as text. */
const notText = new Set(['type', 'role', 'data', 'mediaType', 'providerOptions'])

/** Keys with JSON in a prompt, by the `type` next to them. All of that JSON is sent, whatever its own keys are. */
const jsonKeys: ReadonlyMap<unknown, string> = new Map([
  ['tool-call', 'input'],
  ['json', 'value'],
  ['error-json', 'value'],
])

/** Returns the UTF-16 length of the text of a call: its prompt and tools, without files. */
export function requestLength({ prompt, tools }: LanguageModelV4CallOptions): number {
  return textLength(prompt) + (tools ? JSON.stringify(tools).length : 0)
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textLength(item), 0)
  if (typeof value !== 'object' || value === null) return 0
  const jsonKey = jsonKeys.get((value as { readonly type?: unknown }).type)
  return Object.entries(value).reduce((sum, [key, item]) => {
    if (notText.has(key)) return sum
    return sum + (key === jsonKey ? (JSON.stringify(item)?.length ?? 0) : textLength(item))
  }, 0)
}
