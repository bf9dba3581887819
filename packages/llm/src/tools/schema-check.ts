import type { JSONValue } from '../messages.ts'
import type { PatternCompiler } from './linear-pattern.ts'
import type { SchemaWalk } from './schema-walk.ts'

/** Returns the value with defaults filled in. Reports issues to the walk. */
export type Check = (value: JSONValue, walk: SchemaWalk) => JSONValue

export type SchemaObject = Readonly<Record<string, unknown>>

/** Compiles nested schemas: of properties, of items. */
export interface PartCompiler {
  /** Absent for a schema without patterns. */
  readonly patterns: PatternCompiler | undefined
  compile(schema: unknown): Check
  /** Returns the default of a schema or of the schema that it references. */
  defaultOf(schema: unknown): JSONValue | undefined
}
