import { MalformedPart } from './malformed-part.ts'

/** A text without which a part means nothing. */
export function neededText(part: { readonly type: string }, name: string): string {
  const value = (part as Partial<Record<string, unknown>>)[name]
  if (typeof value === 'string' && value !== '') return value
  throw new MalformedPart(`a part of the type "${part.type}" has no ${name}`)
}

/** A text that a part may do without; anything else in its place says nothing. */
export function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
