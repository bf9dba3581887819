import { MalformedPart } from './malformed-part.ts'

/** Returns a required text of a part. Throws `MalformedPart` if it is missing. */
export function neededText(part: { readonly type: string }, name: string): string {
  const value = (part as Partial<Record<string, unknown>>)[name]
  if (typeof value === 'string' && value !== '') return value
  throw new MalformedPart(`a part of the type "${part.type}" has no ${name}`)
}

/** Returns an optional text of a part; any other value counts as absent. */
export function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
