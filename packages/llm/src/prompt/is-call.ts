import type { AssistantPart, ToolCallPart } from '../messages.ts'

/** Parts from outside may be nothing at all. */
export function isCall(part: AssistantPart | undefined): part is ToolCallPart {
  return part?.type === 'tool-call'
}
