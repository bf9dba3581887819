import type { JSONObject, JSONValue } from '@ai-sdk/provider'
import { isRecord } from '../arguments.ts'
import { hasPart } from './parts.ts'

/** Replaces lone surrogates in every text of the value, because providers reject them in JSON. Calls `onChange` at most once. */
export function wellFormed<T extends JSONValue>(value: T, onChange: () => void): T {
  if (isWellFormed(value)) return value
  onChange()
  return repaired(value) as T
}

function isWellFormed(value: JSONValue | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (isArray(value)) return !hasPart(value, (item) => !isWellFormed(item))
  // Avoids a list of entries: all inputs and results of a transcript are checked at every call.
  for (const key of Object.keys(value)) if (!key.isWellFormed() || !isWellFormed(value[key])) return false
  return true
}

function isArray(value: JSONObject | readonly JSONValue[]): value is readonly JSONValue[] {
  return Array.isArray(value)
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
