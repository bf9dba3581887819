import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { idForm } from '../arguments.ts'

type JsonSchema = Record<string, unknown>

/**
 * Advertises the schema but accepts every value, so that the bridge reports refusals, not the SDK. The JSON Schema is computed
 * once, because over HTTP every call has its own server.
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

/** Some clients treat a field without keywords as an error, and some models refuse a list of types. */
const anyOfJson = ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type }))

/** Marker in the metadata of a schema: its description already explains its parts, so they are not advertised. */
export const wordsOnly = 'wordsOnly'

/** Keywords that clients do not need. */
const dropped: readonly string[] = ['$schema', '$defs', '$ref', 'propertyNames']

/** Removes `$ref`, which some models refuse. Only the schema of any JSON value refers to itself, so a list of all kinds replaces it. */
function plainSchema(schema: JsonSchema): JsonSchema {
  if (schema[wordsOnly] === true) return { type: schema['type'], description: schema['description'] }
  const plain: JsonSchema = {}
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$ref') plain['anyOf'] = anyOfJson
    if (dropped.includes(name)) continue
    if (name === 'maximum' && value === Number.MAX_SAFE_INTEGER) continue
    if (name === 'minimum' && value === Number.MIN_SAFE_INTEGER) continue
    // The description of the field explains the form of ids.
    if (name === 'pattern' && value === idForm.source) continue
    // `additionalProperties` that allows anything is the default.
    if (name === 'additionalProperties' && isAnything(value)) continue
    if (name === 'exclusiveMinimum' && value === 0 && schema['type'] === 'integer') plain['minimum'] = 1
    else if (name === 'properties')
      plain[name] = Object.fromEntries(Object.entries(value as JsonSchema).map(([field, each]) => [field, plainSchema(each as JsonSchema)]))
    else plain[name] = plainValue(value)
  }
  return plain
}

/** Returns whether the schema allows any JSON value. */
function isAnything(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).every((name) => dropped.includes(name))
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  return typeof value === 'object' && value !== null ? plainSchema(value as JsonSchema) : value
}
