import type { AgentEvent } from './agent-event.ts'
import type { TextDeltaEvent } from './message-events.ts'

/**
 * Returns what a reader lacks of the text and reasoning of the answer that this event ends: one delta per block, marked with
 * `catchUp`. `had` holds how many characters of the block at each index the reader has had; absent: none. Returns an empty list for
 * other events.
 */
export function missingDeltas(
  event: AgentEvent | null | undefined,
  had?: readonly (number | undefined)[] | null,
): readonly TextDeltaEvent[] {
  const missing: TextDeltaEvent[] = []
  if (event?.type !== 'message-end') return missing
  const { at, runId, turn, step, agent, messageId, message } = event
  for (const [index, part] of message.content.entries()) {
    if (part.type !== 'text' && part.type !== 'reasoning') continue
    const delta = part.text.slice(had?.[index])
    if (delta === '') continue
    missing.push({ type: `${part.type}-delta`, at, runId, turn, step, ...(agent && { agent }), messageId, index, delta, catchUp: true })
  }
  return missing
}
