import type { JSONSchema7 } from '@ai-sdk/provider'
import type { JSONValue } from '../messages.ts'
import { checkableSchema } from './checkable-schema.ts'
import { SchemaCompiler } from './compile-schema.ts'
import { patternCompiler } from './linear-pattern.ts'
import { SchemaWalk } from './schema-walk.ts'
import type { SchemaResult } from './schema-result.ts'

/** Maximum number of objects and lists in one schema. A large real tool schema has some hundreds. */
const maxParts = 10_000

export interface JsonSchemaChecker {
  /** Throws for a value that is too deep, or whose check would take too long. */
  readonly check: (value: JSONValue) => SchemaResult
  readonly unchecked: readonly string[]
}

/**
 * Creates a checker for plain JSON Schema. The work of one check is bounded for every schema, because schemas may come from a
 * client or another server. Unsupported keywords are skipped and listed.
 */
export async function checkerOf(jsonSchema: JSONSchema7): Promise<JsonSchemaChecker> {
  const { parts, hasPatterns } = measure(jsonSchema)
  if (parts > maxParts) throw new Error(`It has more than ${maxParts} parts.`)
  const patterns = hasPatterns ? await patternCompiler() : undefined
  const { schema, unchecked } = checkableSchema(jsonSchema, patterns)
  const compiler = new SchemaCompiler(schema, patterns)
  const check = compiler.compile(schema)
  return {
    unchecked,
    check(value) {
      const walk = new SchemaWalk()
      const checked = check(value, walk)
      return walk.issues.length === 0 ? { ok: true, value: checked } : { ok: false, issues: walk.issues }
    },
  }
}

/** Stops counting at the limit. */
function measure(schema: unknown): { readonly parts: number; readonly hasPatterns: boolean } {
  let parts = 0
  let hasPatterns = false
  const open = [schema]
  for (let part = open.pop(); part !== undefined && parts <= maxParts; part = open.pop()) {
    if (typeof part !== 'object' || part === null) continue
    parts++
    for (const [keyword, value] of Object.entries(part)) {
      hasPatterns ||= keyword === 'pattern' || keyword === 'patternProperties'
      if (typeof value === 'object' && value !== null) open.push(value)
    }
  }
  return { parts, hasPatterns }
}
