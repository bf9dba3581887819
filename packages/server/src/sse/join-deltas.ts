import type { LoggedEvent } from '@bowline/sessions'

export type TextDelta = Extract<LoggedEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>

/** What a tool says while it runs is not among them: of its text the fold keeps a tail, and where it is cut would change. */
export function isTextDelta(event: LoggedEvent): event is TextDelta {
  return event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-delta'
}

/** Both belong to one part of one message of one attempt, so that their texts are one text. */
export function continues(first: TextDelta, next: TextDelta): boolean {
  return next.type === first.type && next.index === first.index && next.messageId === first.messageId && next.runId === first.runId
}

/** One delta that says what these say, at the place of the last. */
export function joinDeltas(deltas: readonly [TextDelta, ...TextDelta[]]): TextDelta {
  return { ...(deltas.at(-1) ?? deltas[0]), delta: deltas.map(({ delta }) => delta).join('') }
}
