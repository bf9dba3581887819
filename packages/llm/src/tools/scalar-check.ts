import type { JSONValue } from '../messages.ts'
import type { LinearPattern } from './linear-pattern.ts'
import type { Check, SchemaObject } from './schema-check.ts'
import { canonical, type SchemaWalk } from './schema-walk.ts'

const typeNames: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'])

/** Returns the check of `type`, or undefined if the schema allows every type. Throws for an unknown type. */
export function typeCheck({ type }: SchemaObject): Check | undefined {
  if (type === undefined) return undefined
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  const unknown = types.find((name) => !typeNames.has(name))
  if (unknown !== undefined) throw new Error(`Unsupported type: ${JSON.stringify(unknown)}`)
  return (value, walk) => {
    if (!types.some((name) => isOfType(value, name))) walk.fail(expected(type, value))
    return value
  }
}

export function expected(type: unknown, value: JSONValue | undefined): string {
  const types = Array.isArray(type) ? type.join(' | ') : String(type)
  return `Invalid input: expected ${types}, received ${value === undefined ? 'undefined' : typeOf(value)}`
}

function typeOf(value: JSONValue): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isOfType(value: JSONValue, name: unknown): boolean {
  return name === 'integer' ? Number.isInteger(value) : typeOf(value) === name
}

/** Returns the check of `enum` and `const`. */
export function valueCheck(schema: SchemaObject): Check | undefined {
  const { enum: options } = schema
  if (!Array.isArray(options) && !('const' in schema)) return undefined
  const lists: readonly unknown[][] = [...(Array.isArray(options) ? [options] : []), ...('const' in schema ? [[schema['const']]] : [])]
  const [first = [], ...others] = lists.map((list) => list.map((option) => canonical(option as JSONValue)))
  const allowed = new Set(first.filter((option) => others.every((list) => list.includes(option))))
  const shown = [...allowed].slice(0, 20).join('|')
  return (value, walk) => {
    if (!allowed.has(canonical(value, walk))) walk.fail(`Invalid option: expected one of ${shown}`)
    return value
  }
}

/** Returns the check of the length of texts, in code points, or undefined if the schema has none. */
export function lengthCheck({ minLength, maxLength }: SchemaObject): Check | undefined {
  if (minLength === undefined && maxLength === undefined) return undefined
  const [least, most] = [minLength ?? 0, maxLength ?? Infinity] as [number, number]
  return (value, walk) => {
    if (typeof value !== 'string') return value
    walk.stepsOf(value.length)
    const length = lengthOf(value)
    if (length < least) walk.fail(`Too small: expected string to have >=${least} characters`)
    if (length > most) walk.fail(`Too big: expected string to have <=${most} characters`)
    return value
  }
}

function lengthOf(text: string): number {
  let length = text.length
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) {
      length--
      index++
    }
  }
  return length
}

type NumberRule = (value: number, limit: number) => boolean

/** In the oldest drafts, `true` makes the limit of the other keyword exclusive. */
const numberRules: readonly (readonly [keyword: string, words: string, holds: NumberRule, exclusive?: string])[] = [
  ['minimum', 'Too small: expected number to be >=', (value, limit) => value >= limit, 'exclusiveMinimum'],
  ['maximum', 'Too big: expected number to be <=', (value, limit) => value <= limit, 'exclusiveMaximum'],
  ['exclusiveMinimum', 'Too small: expected number to be >', (value, limit) => value > limit],
  ['exclusiveMaximum', 'Too big: expected number to be <', (value, limit) => value < limit],
  ['multipleOf', 'Invalid number: must be a multiple of ', isMultiple],
]

/** Returns the check of numbers, or undefined if the schema has none. */
export function numberCheck(schema: SchemaObject): Check | undefined {
  const rules = numberRules.flatMap(([keyword, words, holds, exclusive]) => {
    const limit = schema[keyword]
    if (typeof limit !== 'number') return []
    const isExclusive = exclusive !== undefined && schema[exclusive] === true
    return [(value: number) => (holds(value, limit) && !(isExclusive && value === limit) ? undefined : `${words}${limit}`)]
  })
  if (rules.length === 0) return undefined
  return (value, walk) => {
    if (typeof value !== 'number') return value
    for (const rule of rules) {
      const fault = rule(value)
      if (fault !== undefined) walk.fail(fault)
    }
    return value
  }
}

/** Exact but for the rounding of decimals: 0.0075 is a multiple of 0.0001. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step
  return Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)
}

export function patternCheck(pattern: LinearPattern, source: string): Check {
  return (value, walk) => {
    if (typeof value === 'string' && !testPattern(pattern, value, walk)) walk.fail(`Invalid string: must match pattern /${source}/`)
    return value
  }
}

export function testPattern({ test, size }: LinearPattern, text: string, walk: SchemaWalk): boolean {
  walk.stepsOf(text.length, size)
  return test(text)
}
