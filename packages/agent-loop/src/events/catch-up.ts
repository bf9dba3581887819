import type { MessageEndEvent, TextDeltaEvent } from './message-events.ts'

/**
 * Returns what a reader lacks of the text and reasoning of a finished answer: one delta per block, marked with `catchUp`. `had`
 * holds how many characters of the block at each index the reader has had; absent: none.
 */
export function missingDeltas(event: MessageEndEvent, had: readonly (number | undefined)[]): readonly TextDeltaEvent[] {
  const { at, runId, turn, step, agent, messageId, message } = event
  const missing: TextDeltaEvent[] = []
  for (const [index, part] of message.content.entries()) {
    if (part.type !== 'text' && part.type !== 'reasoning') continue
    const delta = part.text.slice(had[index])
    if (delta !== '') missing.push({ type: `${part.type}-delta`, at, runId, turn, step, ...(agent && { agent }), messageId, index, delta, catchUp: true })
  }
  return missing
}
