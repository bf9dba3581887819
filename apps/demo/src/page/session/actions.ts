import type { JsonValue, ToolResolution } from '@bowline/client'

export type Resolution = ToolResolution

export type SubmittedAnswer =
  | { readonly toolCallId: string; readonly output: JsonValue }
  | { readonly toolCallId: string; readonly error: string }
