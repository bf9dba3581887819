import type { JSONSchema7 } from '@ai-sdk/provider'
import { isRecord } from '../arguments.ts'
import type { PatternCompiler } from './linear-pattern.ts'

export type Draft = 'draft-7' | 'draft-2020-12'

export interface CheckableSchema {
  /** The schema without the keywords that the checker does not support. */
  readonly schema: unknown
  /** The removed keywords. */
  readonly unchecked: readonly string[]
}

/** Adapts a schema to the checker, so that valid values are never refused because of unsupported keywords. */
export function checkableSchema(schema: JSONSchema7, patterns?: PatternCompiler): CheckableSchema {
  const unchecked = new Set<string>()
  const isPattern = (source: unknown): boolean => patterns?.compile(source) !== undefined
  const checkable = convert(schema, { definitions: definitionsOf(schema), unchecked, isPattern })
  return { schema: checkable, unchecked: [...unchecked].sort() }
}

function draftOf(schema: JSONSchema7): Draft {
  if (schema.$schema !== undefined) return /draft-0[467]/.test(schema.$schema) ? 'draft-7' : 'draft-2020-12'
  return schema.definitions && !schema.$defs ? 'draft-7' : 'draft-2020-12'
}

interface Context {
  readonly definitions: Definitions
  readonly unchecked: Set<string>
  /** Whether a pattern can be checked in linear time. */
  readonly isPattern: (source: unknown) => boolean
}

type SchemaObject = Readonly<Record<string, unknown>>

const neverChecked = new Set([
  'if',
  'then',
  'else',
  'not',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
  // An annotation, unless a schema asks for more: what one validator takes as a URL or a time, another refuses.
  'format',
])

/** Keywords whose values map names chosen by the author, not keywords. */
export const namedSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
export const plainData: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'required'])

function convert(schema: unknown, context: Context): unknown {
  if (Array.isArray(schema)) return schema.map((item) => convert(item, context))
  if (!isRecord(schema)) return schema
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    const checked = isCheckable(keyword, value, schema, context)
    if (!checked) context.unchecked.add(keyword)
    return checked
  })
  const converted = kept.map(([keyword, value]) => {
    if (plainData.has(keyword)) return [keyword, value]
    if (!namedSchemas.has(keyword) || !isRecord(value)) return [keyword, convert(value, context)]
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, convert(inner, context)]))]
  })
  return Object.fromEntries(converted)
}

function isCheckable(keyword: string, value: unknown, schema: SchemaObject, { definitions, isPattern }: Context): boolean {
  switch (keyword) {
    case '$ref':
      return isLocal(value, definitions)
    case 'pattern':
      return isPattern(value)
    case 'patternProperties':
    case 'additionalProperties':
      // Which properties are additional depends on all patterns.
      return Object.keys(schema['patternProperties'] ?? {}).every(isPattern)
    default:
      return !neverChecked.has(keyword)
  }
}

/** Keyword under which the draft of a schema keeps its definitions, and their names. */
interface Definitions {
  readonly keyword: '$defs' | 'definitions'
  readonly names: ReadonlySet<string>
}

function definitionsOf(schema: JSONSchema7): Definitions {
  const keyword = draftOf(schema) === 'draft-7' ? 'definitions' : '$defs'
  return { keyword, names: new Set(Object.keys(schema[keyword] ?? {})) }
}

/** Returns whether a reference names the root or one of its definitions. Only these are supported. */
function isLocal(reference: unknown, { keyword, names }: Definitions): boolean {
  if (reference === '#') return true
  const [, place, name] = typeof reference === 'string' ? (/^#\/([^/]+)\/([^/]+)$/.exec(reference) ?? []) : []
  return place === keyword && name !== undefined && names.has(name.replaceAll('~1', '/').replaceAll('~0', '~'))
}
