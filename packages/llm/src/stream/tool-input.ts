import { isRecord } from '../arguments.ts'
import { toJsonValue } from '../json.ts'
import type { JSONValue, ToolCallPart } from '../messages.ts'

/** What a tool call says about its arguments. */
export type ToolInput =
  | { readonly input: JSONValue }
  | { readonly input: JSONValue; readonly invalid: NonNullable<ToolCallPart['invalid']>; readonly inputText: string }

/** Parses argument text once. Text that is cut or broken is marked, never salvaged. */
export function parseToolInput(text: string): ToolInput {
  if (text.trim() === '') return { input: {} }
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? { input: toJsonValue(value) } : { input: {}, invalid: 'not-object', inputText: text }
  } catch {
    // No JSON, or JSON nested so deep that nobody could write it down again.
    return { input: {}, invalid: 'not-json', inputText: text }
  }
}

/** The input of a call whose arguments never came to an end. */
export function truncatedToolInput(text: string): ToolInput {
  return { input: {}, invalid: 'truncated', inputText: text }
}
