import type { JSONValue } from '@ai-sdk/provider'
import { isRecord } from '../json.ts'

/** Replaces lone surrogates, which no provider's JSON can carry, in every text of the value. Says so at most once. */
export function wellFormed<T extends JSONValue>(value: T, onChange: () => void): T {
  let changed = false
  const visit = (item: JSONValue | undefined): JSONValue | undefined => {
    if (typeof item === 'string') {
      if (item.isWellFormed()) return item
      changed = true
      return item.toWellFormed()
    }
    if (Array.isArray(item)) return (item as JSONValue[]).map((entry) => visit(entry) ?? null)
    if (isRecord(item)) return Object.fromEntries(Object.entries(item).map(([key, entry]) => [key, visit(entry)]))
    return item
  }
  const result = visit(value) as T
  if (changed) onChange()
  return changed ? result : value
}
