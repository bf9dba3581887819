import { isRecord } from '../arguments.ts'
import type { JSONValue } from '../messages.ts'
import type { LinearPattern } from './linear-pattern.ts'
import { expected, testPattern } from './scalar-check.ts'
import type { Check, PartCompiler, SchemaObject } from './schema-check.ts'
import type { SchemaWalk } from './schema-walk.ts'

const maxNamesShown = 10

interface Property {
  readonly check: Check
  readonly default: JSONValue | undefined
  readonly type: unknown
}

interface ObjectRules {
  readonly properties: ReadonlyMap<string, Property>
  readonly required: ReadonlySet<string>
  readonly patterns: readonly { readonly pattern: LinearPattern; readonly check: Check }[]
  /** Undefined: all other properties are allowed. */
  readonly others: Check | false | undefined
  readonly names: Check | undefined
  readonly least: number
  readonly most: number
}

/** Returns the check of the object keywords, or undefined if the schema has none of them. */
export function objectCheck(compiler: PartCompiler, schema: SchemaObject): Check | undefined {
  const keywords = [
    'properties',
    'required',
    'patternProperties',
    'additionalProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
  ]
  if (!keywords.some((keyword) => keyword in schema)) return undefined
  const rules = rulesOf(compiler, schema)
  return (value, walk) => (isRecord(value) ? checkObject(value as Record<string, JSONValue>, rules, walk) : value)
}

function rulesOf(compiler: PartCompiler, schema: SchemaObject): ObjectRules {
  const { required, additionalProperties: others, propertyNames: names, minProperties, maxProperties } = schema
  const properties = entriesOf(schema, 'properties').map(([name, inner]) => {
    const type = isRecord(inner) ? inner['type'] : undefined
    return [name, { check: compiler.compile(inner), default: compiler.defaultOf(inner), type }] as const
  })
  const patterns = entriesOf(schema, 'patternProperties').flatMap(([source, inner]) => {
    const pattern = compiler.patterns?.compile(source)
    return pattern ? [{ pattern, check: compiler.compile(inner) }] : []
  })
  return {
    properties: new Map(properties),
    required: new Set(Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : []),
    patterns,
    others: others === false ? false : isRecord(others) ? compiler.compile(others) : undefined,
    names: names === undefined ? undefined : compiler.compile(names),
    least: typeof minProperties === 'number' ? minProperties : 0,
    most: typeof maxProperties === 'number' ? maxProperties : Infinity,
  }
}

function entriesOf(schema: SchemaObject, keyword: string): [string, unknown][] {
  const value = schema[keyword]
  if (value === undefined) return []
  if (!isRecord(value)) throw new Error(`${keyword} must be an object.`)
  return Object.entries(value)
}

function checkObject(value: Record<string, JSONValue>, rules: ObjectRules, walk: SchemaWalk): JSONValue {
  const { properties, required, names, least, most } = rules
  const given = Object.entries(value)
  if (given.length < least) walk.fail(`Too small: expected object to have >=${least} properties`)
  if (given.length > most) walk.fail(`Too big: expected object to have <=${most} properties`)
  const unknown: string[] = []
  const checked = given.map(([name, inner]) => {
    if (names) walk.at(name, () => names(name, walk))
    return [name, checkProperty(name, inner, rules, unknown, walk)] as const
  })
  if (unknown.length > 0) walk.fail(unrecognized(unknown))
  const missing: [string, JSONValue][] = []
  for (const [name, property] of properties) {
    walk.step()
    if (Object.hasOwn(value, name)) continue
    if (property.default !== undefined) missing.push([name, property.default])
    else if (required.has(name)) walk.at(name, () => walk.fail(expected(property.type ?? 'a value', undefined)))
  }
  for (const name of required) {
    if (!properties.has(name) && !Object.hasOwn(value, name)) walk.at(name, () => walk.fail(expected('a value', undefined)))
  }
  return Object.fromEntries([...checked, ...missing])
}

function checkProperty(
  name: string,
  value: JSONValue,
  { properties, patterns, others }: ObjectRules,
  unknown: string[],
  walk: SchemaWalk,
): JSONValue {
  const property = properties.get(name)
  const byPattern = patterns.filter(({ pattern }) => testPattern(pattern, name, walk)).map(({ check }) => check)
  const checks = [...(property ? [property.check] : []), ...byPattern]
  if (checks.length === 0 && others === false) unknown.push(name)
  if (checks.length === 0 && others) checks.push(others)
  walk.step()
  return walk.at(name, () => checks.reduce((checked, check) => check(checked, walk), value))
}

function unrecognized(names: readonly string[]): string {
  const shown = names.slice(0, maxNamesShown).map((name) => JSON.stringify(name.slice(0, 100)))
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  return `Unrecognized key${names.length === 1 ? '' : 's'}: ${shown.join(', ')}${more}`
}
