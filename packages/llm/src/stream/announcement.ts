import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { definedOnly, field } from '../json.ts'
import type { Usage } from '../messages.ts'
import { tokenCount } from '../usage/usage.ts'

type CustomPart = Extract<LanguageModelV4StreamPart, { type: 'custom' }>

/**
 * Returns the usage in a part that looks like content but only announces it: Anthropic's client reports in this way that the
 * provider has begun to read. Returns `undefined` for real content.
 */
export function announcedUsage(part: CustomPart): Usage | undefined {
  if (part.kind !== 'anthropic.message_start') return undefined
  const raw = part.providerMetadata?.['anthropic']?.['usage']
  const count = (name: string): number | undefined => tokenCount(field(raw, name))
  const [noCacheTokens, cacheReadTokens, cacheWriteTokens] = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'].map(
    count,
  )
  if (noCacheTokens === undefined) return {}
  const inputTokens = noCacheTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  return definedOnly({ inputTokens, noCacheTokens, cacheReadTokens, cacheWriteTokens })
}
