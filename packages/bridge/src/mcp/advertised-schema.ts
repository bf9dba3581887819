import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { idForm } from '../arguments.ts'

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
  return plainSchema(z.toJSONSchema(schema, { target: 'draft-2020-12', io }) as JsonSchema)
}

/** Some clients take a field without any keyword for one that was forgotten, and some models refuse a list of types. */
const anyOfJson = ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type }))

/** In the metadata of a schema: its description says what its parts are. */
export const wordsOnly = 'wordsOnly'

/** What a client need not know: which keys a record may have, that whole numbers end somewhere. */
const dropped: readonly string[] = ['$schema', '$defs', '$ref', 'propertyNames']

/**
 * The same schema without `$ref`, which some models refuse: only the schema of any JSON value refers to itself, and the
 * list of all kinds says the same.
 */
function plainSchema(schema: JsonSchema): JsonSchema {
  if (schema[wordsOnly] === true) return { type: schema['type'], description: schema['description'] }
  const plain: JsonSchema = {}
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$ref') plain['anyOf'] = anyOfJson
    if (dropped.includes(name)) continue
    if (name === 'maximum' && value === Number.MAX_SAFE_INTEGER) continue
    if (name === 'minimum' && value === Number.MIN_SAFE_INTEGER) continue
    // The description says what an id is made of.
    if (name === 'pattern' && value === idForm.source) continue
    // Absent it says the same.
    if (name === 'additionalProperties' && isAnything(value)) continue
    if (name === 'exclusiveMinimum' && value === 0 && schema['type'] === 'integer') plain['minimum'] = 1
    else if (name === 'properties') plain[name] = Object.fromEntries(Object.entries(value as JsonSchema).map(([field, each]) => [field, plainSchema(each as JsonSchema)]))
    else plain[name] = plainValue(value)
  }
  return plain
}

/** Every field may be any JSON. */
function isAnything(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).every((name) => dropped.includes(name))
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  return typeof value === 'object' && value !== null ? plainSchema(value as JsonSchema) : value
}
