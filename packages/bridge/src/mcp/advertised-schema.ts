import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'

type JsonSchema = Record<string, unknown>

/**
 * Advertises the schema and lets every value through, so that a refusal has the bridge's form and not the SDK's. Its JSON
 * Schema is worked out once: over HTTP every call has a server of its own.
 */
export function advertisedSchema(schema: z.ZodType): StandardSchemaWithJSON {
  const known: { input?: JsonSchema; output?: JsonSchema } = {}
  return {
    '~standard': {
      version: 1,
      vendor: 'bowline',
      validate: (value) => ({ value }),
      jsonSchema: {
        input: () => (known.input ??= jsonSchemaOf(schema, 'input')),
        output: () => (known.output ??= jsonSchemaOf(schema, 'output')),
      },
    },
  }
}

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, { target: 'draft-2020-12', io, override: ({ jsonSchema }) => sayWhatIsOpen(jsonSchema) })
}

/** Of loose objects some clients take `{}` for a schema that was forgotten. */
function sayWhatIsOpen(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const { additionalProperties: more } = jsonSchema
  if (typeof more === 'object' && Object.keys(more).length === 0) jsonSchema.additionalProperties = true
}
