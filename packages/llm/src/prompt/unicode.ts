import type { JSONValue } from '@ai-sdk/provider'
import { isRecord } from '../json.ts'

/** Replaces lone surrogates, which no provider's JSON can carry, in every text of the value. Says so at most once. */
export function wellFormed<T extends JSONValue>(value: T, onChange: () => void): T {
  if (isWellFormed(value)) return value
  onChange()
  return repaired(value) as T
}

function isWellFormed(value: JSONValue | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (isRecord(value)) {
    return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item as JSONValue))
  }
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
