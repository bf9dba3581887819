import { isRecord } from '../arguments.ts'
import { toJsonValue } from '../json.ts'
import type { ProviderMetadata } from '../messages.ts'

/**
 * What was said before and what is said now, merged per provider; the later value wins. Always a new object, because
 * events may hold the earlier one. What is not fields by provider says nothing, and nothing said is no metadata.
 */
export function mergeMetadata(before: ProviderMetadata | undefined, added: unknown): ProviderMetadata | undefined {
  if (!isRecord(added)) return before
  // Entries, not assignments: a provider may be called `__proto__`.
  const merged = new Map(Object.entries(before ?? {}))
  for (const [provider, fields] of Object.entries(toJsonValue(added) ?? {})) {
    if (isRecord(fields)) merged.set(provider, { ...merged.get(provider), ...(fields as ProviderMetadata[string]) })
  }
  return merged.size > 0 ? Object.fromEntries(merged) : undefined
}
