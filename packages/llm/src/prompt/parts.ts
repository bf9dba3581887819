import type { AssistantPart, ToolCallPart } from '../messages.ts'

// Transcripts are mostly frozen, and on frozen arrays `some`, `map` and `for … of` are many times slower than an indexed loop. So
// code that runs once per message or part uses an index.

/** Parts from outside may be undefined. */
export function isCall(part: AssistantPart | undefined): part is ToolCallPart {
  return part?.type === 'tool-call'
}

export function hasPart<P>(content: readonly P[], test: (part: P | undefined) => boolean): boolean {
  for (let place = 0; place < content.length; place++) if (test(content[place])) return true
  return false
}

export function mapParts<P, R>(content: readonly P[], convert: (part: P | undefined, place: number) => R): R[] {
  const converted: R[] = []
  for (let place = 0; place < content.length; place++) converted.push(convert(content[place], place))
  return converted
}
