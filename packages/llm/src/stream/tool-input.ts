import { isRecord } from '../arguments.ts'
import { toJsonValue } from '../json.ts'
import type { JSONValue, ToolCallPart } from '../messages.ts'

/** Parsed arguments of a tool call. */
export type ToolInput =
  | { readonly input: JSONValue }
  | { readonly input: JSONValue; readonly invalid: NonNullable<ToolCallPart['invalid']>; readonly inputText: string }

/** Parses argument text once. Truncated or broken text is marked `invalid`, never repaired. */
export function parseToolInput(text: string): ToolInput {
  if (text.trim() === '') return { input: {} }
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? { input: toJsonValue(value) } : { input: {}, invalid: 'not-object', inputText: text }
  } catch {
    // Invalid JSON, or JSON nested too deeply to be serialised again.
    return { input: {}, invalid: 'not-json', inputText: text }
  }
}

/** Returns the input of a call whose arguments were cut off. */
export function truncatedToolInput(text: string): ToolInput {
  return { input: {}, invalid: 'truncated', inputText: text }
}
