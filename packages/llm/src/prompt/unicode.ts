import type { JSONObject, JSONValue } from '@ai-sdk/provider'
import { isRecord } from '../json.ts'

/** Replaces lone surrogates, which no provider's JSON can carry, in every text of the value. Says so at most once. */
export function wellFormed<T extends JSONValue>(value: T, onChange: () => void): T {
  if (isWellFormed(value)) return value
  onChange()
  return repaired(value) as T
}

function isWellFormed(value: JSONValue | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  // Without a list of entries: all inputs and results of a transcript pass here, at every call.
  const fields = value as JSONObject
  for (const key of Object.keys(fields)) if (!key.isWellFormed() || !isWellFormed(fields[key])) return false
  return true
}

function repaired(value: JSONValue | undefined): JSONValue | undefined {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map((item: JSONValue) => repaired(item) ?? null)
  if (isRecord(value)) {
    const entries = Object.entries(value).map(([key, item]) => [key.toWellFormed(), repaired(item as JSONValue)])
    return Object.fromEntries(entries) as JSONValue
  }
  return value
}
