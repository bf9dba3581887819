import { isRecord } from '../arguments.ts'
import { toJsonValue } from '../json.ts'
import type { ProviderMetadata } from '../messages.ts'

/**
 * Merges provider metadata per provider; later values win. Always returns a new object, because events may hold the earlier one.
 * Ignores values that are not an object of fields by provider. Returns undefined if there is no metadata.
 */
export function mergeMetadata(before: ProviderMetadata | undefined, added: unknown): ProviderMetadata | undefined {
  if (!isRecord(added)) return before
  // A map, because a provider may be called `__proto__`.
  const merged = new Map(Object.entries(before ?? {}))
  for (const [provider, fields] of Object.entries(toJsonValue(added) ?? {})) {
    if (isRecord(fields)) merged.set(provider, { ...merged.get(provider), ...(fields as ProviderMetadata[string]) })
  }
  return merged.size > 0 ? Object.fromEntries(merged) : undefined
}
