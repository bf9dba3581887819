import type { JSONValue } from '../messages.ts'
import type { Check, PartCompiler, SchemaObject } from './schema-check.ts'
import { canonical, type SchemaWalk } from './schema-walk.ts'

interface ArrayRules {
  readonly first: readonly Check[]
  /** Check of the items after the listed ones. */
  readonly rest: Check | undefined
  readonly least: number
  readonly most: number
  readonly unique: boolean
  readonly contains: { readonly check: Check; readonly least: number; readonly most: number } | undefined
}

/** Returns the check of the array keywords, or undefined if the schema has none of them. */
export function arrayCheck(compiler: PartCompiler, schema: SchemaObject): Check | undefined {
  const keywords = ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']
  if (!keywords.some((keyword) => keyword in schema)) return undefined
  const rules = rulesOf(compiler, schema)
  return (value, walk) => (Array.isArray(value) ? checkArray(value as readonly JSONValue[], rules, walk) : value)
}

function rulesOf(compiler: PartCompiler, schema: SchemaObject): ArrayRules {
  const { items, prefixItems, additionalItems, contains } = schema
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? additionalItems : items
  return {
    first: first.map((item) => compiler.compile(item)),
    rest: rest === undefined ? undefined : compiler.compile(rest),
    least: numberIn(schema, 'minItems', 0),
    most: numberIn(schema, 'maxItems', Infinity),
    unique: schema['uniqueItems'] === true,
    contains:
      contains === undefined
        ? undefined
        : { check: compiler.compile(contains), least: numberIn(schema, 'minContains', 1), most: numberIn(schema, 'maxContains', Infinity) },
  }
}

function numberIn(schema: SchemaObject, keyword: string, otherwise: number): number {
  const value = schema[keyword]
  return typeof value === 'number' ? value : otherwise
}

function checkArray(items: readonly JSONValue[], rules: ArrayRules, walk: SchemaWalk): JSONValue {
  const { first, rest, least, most, unique, contains } = rules
  if (items.length < least) walk.fail(`Too small: expected array to have >=${least} items`)
  if (items.length > most) walk.fail(`Too big: expected array to have <=${most} items`)
  if (unique) checkUnique(items, walk)
  if (contains) {
    const found = items.filter((item) => walk.attempt(() => contains.check(item, walk)).issues.length === 0).length
    if (found < contains.least) walk.fail(`Array must contain at least ${contains.least} matching elements; found ${found}`)
    if (found > contains.most) walk.fail(`Array must contain at most ${contains.most} matching elements; found ${found}`)
  }
  return items.map((item, index) => {
    const check = first[index] ?? rest
    walk.step()
    return check ? walk.at(index, () => check(item, walk)) : item
  })
}

function checkUnique(items: readonly JSONValue[], walk: SchemaWalk): void {
  const seen = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    const key = canonical(item, walk)
    const earlier = seen.get(key)
    if (earlier === undefined) seen.set(key, index)
    else walk.at(index, () => walk.fail(`Array items must be unique: it repeats the item at ${earlier}`))
  }
}
