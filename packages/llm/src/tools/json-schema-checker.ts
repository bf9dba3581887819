import type { JSONSchema7 } from '@ai-sdk/provider'
import type { JSONValue } from '../messages.ts'
import { checkableSchema, draftOf } from './checkable-schema.ts'
import type { SchemaResult } from './tool-schema.ts'

export interface JsonSchemaChecker {
  /** Throws for a value that is too deep. */
  readonly check: (value: JSONValue) => SchemaResult
  readonly unchecked: readonly string[]
}

/** Checks plain JSON Schema. Keywords that the checker cannot hold are left out of the check and named. */
export async function checkerOf(jsonSchema: JSONSchema7): Promise<JsonSchemaChecker> {
  const { z } = await import('zod')
  const { schema, unchecked } = checkableSchema(jsonSchema)
  const checker = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], {
    defaultTarget: draftOf(jsonSchema),
    // The one that all share would hold every schema with an id for good.
    registry: z.registry(),
  })
  return {
    unchecked,
    check(value) {
      const result = checker.safeParse(value)
      if (result.success) return { ok: true, value: result.data as JSONValue }
      return {
        ok: false,
        issues: result.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })),
      }
    },
  }
}
