import type { JSONSchema7 } from '@ai-sdk/provider'
import { isRecord, needed } from '../arguments.ts'
import { check } from '../check.ts'
import { checkInputSchema } from './check-schema.ts'
import { namedSchemas, plainData } from './checkable-schema.ts'
import { patternCompiler, type PatternCompiler } from './linear-pattern.ts'
import { resolveSchema } from './tool-schema.ts'

/** The first reason why a schema is refused. */
export interface SchemaFault {
  /** Index of the schema in the list. */
  readonly index: number
  /** Dotted path in the schema; empty for the schema itself. */
  readonly path: string
  readonly message: string
}

const maxParts = 2000
const maxDepth = 32
/** Limit with every reference expanded. A circular reference counts once. */
const maxExpandedParts = 10_000

/**
 * Checks tool input schemas from outside before use: their size, depth and expansion, and that each pattern can be tested in linear
 * time. A pattern next to a `format` is exempt: libraries write one for each format, and it is not run if it cannot be. The limits
 * apply to all schemas together. Returns the first fault, or undefined.
 */
export async function findSchemaFault(schemas: readonly JSONSchema7[]): Promise<SchemaFault | undefined> {
  check.checkList('schemas', needed(schemas))
  const patterns = await patternCompiler()
  const limits = { parts: maxParts, expanded: maxExpandedParts }
  for (const [index, schema] of schemas.entries()) {
    const found = new FaultFinder(schema, patterns, limits).find() ?? (await unreadable(schema))
    if (found) return { index, ...found }
  }
  return undefined
}

type Found = Omit<SchemaFault, 'index'>

async function unreadable(schema: JSONSchema7): Promise<Found | undefined> {
  try {
    checkInputSchema('schema', schema)
    await resolveSchema(schema)
    return undefined
  } catch (error) {
    return { path: '', message: error instanceof Error ? error.message : 'The schema cannot be read.' }
  }
}

class FaultFinder {
  readonly #schema: JSONSchema7
  readonly #patterns: PatternCompiler
  /** Remainder of each limit, shared by the schemas that are checked together. */
  readonly #limits: { parts: number; expanded: number }

  constructor(schema: JSONSchema7, patterns: PatternCompiler, limits: { parts: number; expanded: number }) {
    this.#schema = schema
    this.#patterns = patterns
    this.#limits = limits
  }

  find(): Found | undefined {
    const found = this.#look(this.#schema, [])
    if (found) return found
    this.#limits.expanded -= this.#expandedSize(this.#schema, new Map())
    return this.#limits.expanded < 0
      ? { path: '', message: `Too large: with its references in place it has more than ${maxExpandedParts} parts.` }
      : undefined
  }

  #look(part: unknown, path: readonly string[]): Found | undefined {
    if (typeof part !== 'object' || part === null) return undefined
    if (--this.#limits.parts < 0) return { path: '', message: `Too large: it has more than ${maxParts} parts.` }
    if (path.length > maxDepth) return { path: path.slice(0, 4).join('.'), message: `Too deep: it has more than ${maxDepth} levels.` }
    for (const [keyword, value] of Object.entries(part)) {
      const found = this.#lookAtKeyword(part, keyword, value, [...path, keyword])
      if (found) return found
    }
    return undefined
  }

  #lookAtKeyword(part: object, keyword: string, value: unknown, path: readonly string[]): Found | undefined {
    if (plainData.has(keyword)) return undefined
    if (keyword === 'pattern' && typeof value === 'string') {
      return 'format' in part ? undefined : this.#lookAtPattern(value, path)
    }
    if (keyword === 'patternProperties' && isRecord(value)) {
      const found = Object.keys(value)
        .map((source) => this.#lookAtPattern(source, path))
        .find((fault) => fault !== undefined)
      if (found) return found
    }
    if (!namedSchemas.has(keyword) || !isRecord(value)) return this.#look(value, path)
    for (const [name, inner] of Object.entries(value)) {
      const found = this.#look(inner, [...path, name])
      if (found) return found
    }
    return undefined
  }

  #lookAtPattern(source: string, path: readonly string[]): Found | undefined {
    if (this.#patterns.compile(source)) return undefined
    return {
      path: path.join('.'),
      message: 'The pattern cannot be checked in linear time, or is too large: make it simpler or leave it out.',
    }
  }

  /** Stops counting at the limit. */
  #expandedSize(part: unknown, known: Map<unknown, number>): number {
    if (typeof part !== 'object' || part === null) return 0
    const before = known.get(part)
    if (before !== undefined) return before
    known.set(part, 1)
    const inner: readonly unknown[] = [...(Object.values(part) as unknown[]), this.#referred(part)]
    const size = inner.reduce<number>((sum, value) => Math.min(sum + this.#expandedSize(value, known), maxExpandedParts + 1), 1)
    known.set(part, size)
    return size
  }

  #referred(part: object): unknown {
    const reference: unknown = (part as { readonly $ref?: unknown }).$ref
    if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
    const names = reference
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    return names.reduce<unknown>(
      (found, name) => (typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined),
      this.#schema,
    )
  }
}
