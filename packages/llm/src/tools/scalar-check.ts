import type { z as Zod } from 'zod'
import type { JSONValue } from '../messages.ts'
import type { LinearPattern } from './linear-pattern.ts'
import type { Check, SchemaObject } from './schema-check.ts'
import type { SchemaWalk } from './schema-walk.ts'

const scalarKeywords = {
  string: ['format', 'minLength', 'maxLength'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
} as const

/** Formatted texts are short, except formats for data. The limit is needed because some formats take more than linear time. */
const maxFormattedLength = 4096
const formatsOfData: ReadonlySet<unknown> = new Set(['base64', 'base64url', 'jwt'])

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

/** Returns the check of `enum` and `const`, whose values are scalars. */
export function valueCheck(schema: SchemaObject): Check | undefined {
  const { enum: options } = schema
  if (!Array.isArray(options) && !('const' in schema)) return undefined
  const allowed = new Set<unknown>(Array.isArray(options) ? options : [schema['const']])
  if (Array.isArray(options) && 'const' in schema) for (const option of options) if (option !== schema['const']) allowed.delete(option)
  const list = [...allowed].slice(0, 20).map((option) => JSON.stringify(option)).join('|')
  return (value, walk) => {
    if (!allowed.has(value)) walk.fail(`Invalid option: expected one of ${list}`)
    return value
  }
}

/** Returns the check of texts and numbers, made by zod, or undefined if the schema has no such keywords. */
export function scalarCheck(z: typeof Zod, schema: SchemaObject): Check | undefined {
  const text = leafCheck(z, 'string', schema)
  const number = leafCheck(z, 'number', schema)
  if (!text && !number) return undefined
  const isFormatted = 'format' in schema && !formatsOfData.has(schema['format'])
  return (value, walk) => {
    if (typeof value === 'number') number?.(value, walk)
    if (typeof value !== 'string' || !text) return value
    walk.stepsOf(value.length)
    if (isFormatted && value.length > maxFormattedLength) walk.fail(`Too long for the format ${JSON.stringify(schema['format'])}`)
    else text(value, walk)
    return value
  }
}

function leafCheck(z: typeof Zod, type: 'string' | 'number', schema: SchemaObject): Check | undefined {
  const keywords = Object.fromEntries(scalarKeywords[type].filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]))
  if (Object.keys(keywords).length === 0) return undefined
  const leaf = z.fromJSONSchema({ type, ...keywords }, { registry: z.registry() })
  return (value, walk) => {
    const result = leaf.safeParse(value)
    if (!result.success) for (const { message } of result.error.issues) walk.fail(message)
    return value
  }
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
