import { isRecord } from '../arguments.ts'
import type { JSONValue } from '../messages.ts'
import { arrayCheck } from './array-check.ts'
import type { PatternCompiler } from './linear-pattern.ts'
import { objectCheck } from './object-check.ts'
import { lengthCheck, numberCheck, patternCheck, typeCheck, valueCheck } from './scalar-check.ts'
import type { Check, PartCompiler, SchemaObject } from './schema-check.ts'

/** Compiles the checks of one schema. Each part is compiled once, however often it is referenced. */
export class SchemaCompiler implements PartCompiler {
  readonly patterns: PatternCompiler | undefined
  readonly #root: unknown
  readonly #checks = new Map<object, Check>()

  constructor(root: unknown, patterns: PatternCompiler | undefined) {
    this.#root = root
    this.patterns = patterns
  }

  compile(schema: unknown): Check {
    if (typeof schema === 'boolean') return schema ? (value) => value : never
    if (!isRecord(schema)) throw new Error('A schema must be an object or a boolean.')
    const known = this.#checks.get(schema)
    if (known) return known
    const checks: Check[] = []
    const check: Check = (value, walk) => {
      walk.step()
      let checked = value
      for (const each of checks) checked = each(checked, walk)
      return checked
    }
    // Stored first, because a reference may lead back here before its checks exist.
    this.#checks.set(schema, check)
    checks.push(...this.#checksOf(schema))
    return check
  }

  defaultOf(schema: unknown): JSONValue | undefined {
    const seen = new Set<unknown>()
    for (let found = schema; isRecord(found) && !seen.has(found); found = this.#referred(found)) {
      if (found['default'] !== undefined) return found['default'] as JSONValue
      seen.add(found)
    }
    return undefined
  }

  #checksOf(schema: SchemaObject): readonly Check[] {
    const referred = this.#referred(schema)
    const pattern = this.patterns?.compile(schema['pattern'])
    const checks = [
      referred === undefined ? undefined : this.compile(referred),
      typeCheck(schema),
      valueCheck(schema),
      lengthCheck(schema),
      numberCheck(schema),
      pattern && patternCheck(pattern, String(schema['pattern'])),
      objectCheck(this, schema),
      arrayCheck(this, schema),
      ...this.#combinations(schema),
    ]
    return checks.filter((check) => check !== undefined)
  }

  /** Resolves a reference. Remaining references name the root or one of its definitions. */
  #referred({ $ref: reference }: SchemaObject): unknown {
    if (typeof reference !== 'string') return undefined
    const [, keyword = '', name = ''] = reference.split('/')
    if (keyword === '' || !isRecord(this.#root)) return this.#root
    const definitions = this.#root[keyword]
    return isRecord(definitions) ? definitions[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  }

  #combinations({ allOf, anyOf, oneOf }: SchemaObject): readonly Check[] {
    const all = Array.isArray(allOf) ? allOf.map((part) => this.compile(part)) : []
    return [
      ...all,
      ...(Array.isArray(anyOf) ? [oneAtLeast(anyOf.map((part) => this.compile(part)))] : []),
      ...(Array.isArray(oneOf) ? [oneExactly(oneOf.map((part) => this.compile(part)))] : []),
    ]
  }
}

const never: Check = (value, walk) => {
  walk.fail('Invalid input: nothing is allowed here')
  return value
}

function oneAtLeast(options: readonly Check[]): Check {
  return (value, walk) => {
    for (const option of options) {
      const { result, issues } = walk.attempt(() => option(value, walk))
      if (issues.length === 0) return result
      if (options.length === 1) walk.keep(issues)
    }
    if (options.length !== 1) walk.fail(`Invalid input: matches none of ${options.length} alternatives`)
    return value
  }
}

function oneExactly(options: readonly Check[]): Check {
  return (value, walk) => {
    const attempts = options.map((option) => walk.attempt(() => option(value, walk)))
    const matching = attempts.filter(({ issues }) => issues.length === 0)
    const [only] = matching
    if (only && matching.length === 1) return only.result
    const [first] = attempts
    if (first && attempts.length === 1) walk.keep(first.issues)
    else walk.fail(`Invalid input: matches ${matching.length} of ${options.length} alternatives, and must match one`)
    return value
  }
}
