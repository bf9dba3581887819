import type { SentRequest } from '@bowline/llm'
import { createRedaction, type JSONObject } from '@bowline/llm'

const longestData = 1_024
const redaction = createRedaction()

/** Splits a request into prompt, tools and settings (everything else) as JSON. Leaves messages unchanged. */
export function partsOf({ prompt, tools = [], ...settings }: SentRequest): {
  readonly prompt: SentRequest['prompt']
  readonly tools: readonly JSONObject[]
  readonly settings: JSONObject
} {
  return { prompt, tools: tools.map((tool) => plain(tool) as JSONObject), settings: plain(settings) as JSONObject }
}

/** Converts a value to JSON as it is sent, without the data of files and without secrets in provider options. */
export function plain(value: unknown, isFile = false): unknown {
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes left out]`
  if (value instanceof URL) return value.href
  if (typeof value === 'string')
    return isFile && value.length > longestData ? `[${value.length} characters left out]` : value.toWellFormed()
  if (Array.isArray(value)) return value.map((item: unknown) => plain(item ?? null))
  if (typeof value !== 'object' || value === null) return typeof value === 'number' && !Number.isFinite(value) ? null : value
  const result: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined || typeof item === 'function') continue
    const copy = plain(item, name === 'data' && (isFile || 'mediaType' in value))
    result[name] = name === 'providerOptions' ? redaction.value(copy) : copy
  }
  return result
}
