import fc from 'fast-check'

/** JSON Schema as in the document. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
}

const words = ['', 'mine', 'user', '__proto__', 'constructor', '\u0000', '../..', '~', 'a~b', '9'.repeat(400), '\ud800', "'; drop table"]

/** Generates any JSON, with a preference for values that often break programs. */
export const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...words, null, true, -1, 1e308, 0.5, [], {}),
  fc.jsonValue({ maxDepth: 3 }),
)

const maxDepth = 12
const faultWeight = 1
const soundWeight = 60

export interface Components {
  readonly schemas: Readonly<Record<string, Schema>>
  /** Texts that are valid for a field of this name. */
  readonly hints: Readonly<Record<string, readonly string[]>>
}

/** Generates values of a schema, most of them valid. Sometimes a part is replaced, or a key is missing or added. */
export function fromSchema(schema: Schema, components: Components, name = '', depth = 0): fc.Arbitrary<unknown> {
  const sound = soundFrom(schema, components, name, depth)
  return fc.oneof({ weight: soundWeight, arbitrary: sound }, { weight: faultWeight, arbitrary: junk })
}

type Next = (inner: Schema, name?: string) => fc.Arbitrary<unknown>

function soundFrom(schema: Schema, components: Components, name: string, depth: number): fc.Arbitrary<unknown> {
  const next: Next = (inner, key = name) => fromSchema(inner, components, key, depth + 1)
  if (depth > maxDepth) return junk
  if (schema.$ref !== undefined) return next(components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map((each) => next(each)))
  if (schema.allOf) return fc.tuple(...schema.allOf.map((each) => next(each))).map((parts) => Object.assign({}, ...parts) as unknown)
  const types = [schema.type ?? []].flat()
  const hints = types.includes('string') ? components.hints[name] : undefined
  if (hints) return fc.constantFrom(...hints)
  return types.length === 0 ? junk : fc.oneof(...types.map((type) => ofType(type, schema, next)))
}

function ofType(type: string, schema: Schema, next: Next): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return textFrom(schema)
    case 'number':
    case 'integer':
      return fc.integer({
        min: Math.max(schema.minimum ?? -5, -1000),
        max: Math.max(schema.minimum ?? 0, Math.min(schema.maximum ?? 2000, 2000)),
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(next(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 3 })
    default:
      return objectFrom(schema, next)
  }
}

function textFrom({ pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: 'small' })
  const length = { minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) }
  return fc.oneof(fc.constantFrom(...words), fc.string(length), fc.string({ ...length, unit: 'binary' }))
}

function objectFrom(schema: Schema, next: Next): fc.Arbitrary<unknown> {
  const known = Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, inner]) => [key, next(inner, key)]))
  const sound = fc.record(known, { requiredKeys: (schema.required ?? []).filter((key) => key in known) })
  const more = fc.dictionary(fc.constantFrom(...words, 'execute', 'baseURL'), junk, { minKeys: 1, maxKeys: 2 })
  if (schema.additionalProperties !== false) return fc.tuple(sound, more).map(([left, right]): unknown => ({ ...left, ...right }))
  return fc.oneof(
    { weight: soundWeight, arbitrary: sound },
    { weight: faultWeight, arbitrary: fc.tuple(sound, more).map(([left, right]) => ({ ...left, ...right })) },
  )
}
