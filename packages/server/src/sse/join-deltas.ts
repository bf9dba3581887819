import type { LoggedEvent } from '@bowline/sessions'

export type TextDelta = Extract<LoggedEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>

/**
 * Returns true for text deltas. Output of a running tool is not one: a fold keeps only its last part, and joining would change
 * where it is cut.
 */
export function isTextDelta(event: LoggedEvent): event is TextDelta {
  return event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-delta'
}

/**
 * Returns true if both deltas belong to the same part of the same message and attempt, so that their texts can be joined. A delta
 * with the rest of a part stays alone, because it is marked.
 */
export function continues(first: TextDelta, next: TextDelta): boolean {
  return (
    !('catchUp' in next) &&
    next.type === first.type &&
    next.index === first.index &&
    next.messageId === first.messageId &&
    next.runId === first.runId
  )
}

/** Joins deltas to one with the position of the last. */
export function joinDeltas(deltas: readonly [TextDelta, ...TextDelta[]]): TextDelta {
  return { ...(deltas.at(-1) ?? deltas[0]), delta: deltas.map(({ delta }) => delta).join('') }
}
