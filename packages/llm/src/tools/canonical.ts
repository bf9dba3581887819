import { isRecord } from '../arguments.ts'
import type { JSONValue } from '../messages.ts'
import type { SchemaWalk } from './schema-walk.ts'

/** Returns equal texts for equal values, independent of key order. `walk` counts the work. */
export function canonical(value: JSONValue, walk?: SchemaWalk): string {
  walk?.step()
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item as JSONValue, walk)).join(',')}]`
  if (typeof value === 'string') walk?.stepsOf(value.length)
  if (!isRecord(value)) return JSON.stringify(value)
  const entries = Object.entries(value as Record<string, JSONValue>).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner, walk)}`).join(',')}}`
}
