import { jsonSchema } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf, LlmError, resolveSchema, validateWith, type JSONSchema7 } from '../src/index.ts'

const shape: JSONSchema7 = {
  type: 'object',
  properties: { city: { type: 'string' }, unit: { type: 'string', default: 'C' } },
  required: ['city'],
}

const standard = {
  '~standard': {
    version: 1 as const,
    vendor: 'acme',
    validate: (value: unknown) => {
      const city = (value as { city?: unknown }).city
      return typeof city === 'string' ? { value: { city, unit: 'C' } } : { issues: [{ message: 'not a string', path: [{ key: 'city' }] }] }
    },
    jsonSchema: { input: () => ({ ...shape }), output: () => ({ ...shape }) },
  },
}

const own = jsonSchema<{ city: string; unit: string }>(shape, {
  validate: (value) => {
    const { city } = value as { city?: unknown }
    return typeof city === 'string'
      ? { success: true, value: { city, unit: 'C' } }
      : { success: false, error: new Error('city is not a string') }
  },
})

describe('schemas', () => {
  it.each([
    ['plain JSON Schema', shape, 'city'],
    ['zod', z.object({ city: z.string(), unit: z.string().default('C') }), 'city'],
    ['Standard Schema', standard, 'city'],
    ['jsonSchema() with validate', own, ''],
    ['jsonSchema() without validate', jsonSchema(shape), 'city'],
    ['a lazy schema', () => jsonSchema(shape), 'city'],
  ] as const)('L104: %s is checked, with defaults, a fresh value and paths', async (_, schema, path) => {
    const { validate, jsonSchema: sent, unchecked } = await resolveSchema(schema as never)
    const input = { city: 'Oslo' }
    const good = await validate(input)
    expect(good).toEqual({ ok: true, value: { city: 'Oslo', unit: 'C' } })
    expect(good.ok && good.value).not.toBe(input)
    expect(input).toEqual({ city: 'Oslo' })
    const bad = await validate({ city: 7 })
    expect(bad.ok).toBe(false)
    if (!bad.ok) expect(bad.issues).toEqual([{ path, message: expect.any(String) as string }])
    expect(sent).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } })
    expect(unchecked).toEqual([])
  })

  it.each<[string, () => unknown, string]>([
    ['a number', () => 7, 'the schema must return { value } or { issues } with reasons; received 7'],
    ['null', () => null, 'the schema must return { value } or { issues } with reasons; received null'],
    ['nothing', () => undefined, 'the schema must return { value } or { issues } with reasons; received undefined'],
    [
      'neither value nor issues',
      () => ({ success: true }),
      'the schema must return { value } or { issues } with reasons; received an object',
    ],
    ['a promise of a number', () => Promise.resolve(7), 'the schema must return { value } or { issues } with reasons; received 7'],
    [
      'a promise as value',
      () => ({ value: Promise.reject(new Error('late')) }),
      'the schema must return { value } or { issues } with reasons; received a promise: await it first',
    ],
    ['no list of issues', () => ({ issues: 7 }), 'the schema must return { value } or { issues } with reasons; received 7'],
    [
      'a promise of issues',
      () => ({ issues: Promise.reject(new Error('late')) }),
      'the schema must return { value } or { issues } with reasons; received a promise: await it first',
    ],
    ['a value with issues', () => ({ value: {}, issues: [{ message: 'not this city' }] }), 'not this city'],
    ['no issues in the list', () => ({ issues: [] }), 'the schema must return { value } or { issues } with reasons; received a list of 0'],
  ])('L104: a Standard Schema that returns %s refuses the value and says why', async (_what, returned, message) => {
    const schema = { '~standard': { ...standard['~standard'], validate: returned } }
    expect(await (await resolveSchema(schema as never)).validate({})).toEqual({ ok: false, issues: [{ path: '', message }] })
  })

  it('L104: the value is a deep copy', async () => {
    const inner = { deep: [1] }
    for (const schema of [z.object({ any: z.any() }), { type: 'object', properties: { any: {} } } as JSONSchema7]) {
      const result = await (await resolveSchema(schema)).validate({ any: inner })
      expect(result).toEqual({ ok: true, value: { any: inner } })
      expect(result.ok && (result.value as { any: unknown }).any).not.toBe(inner)
    }
  })

  it('L104: a nested issue has its whole path', async () => {
    const { validate } = await resolveSchema({
      type: 'object',
      properties: { list: { type: 'array', items: shape } },
    } as JSONSchema7)
    expect(await validate({ list: [{ city: 'a' }, {}] })).toMatchObject({
      ok: false,
      issues: [{ path: 'list.1.city' }],
    })
  })

  it('L104: keywords that cannot be checked are sent, left out of the check and named', async () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'number', not: { const: 0 } },
        b: { $ref: 'https://example.test/other' },
        if: { type: 'string' },
      },
      if: { required: ['a'] },
      then: { required: ['b'] },
      else: {},
      unevaluatedProperties: false,
      dependentRequired: { a: ['b'] },
      dependentSchemas: {},
    } as JSONSchema7
    const resolved = await resolveSchema(schema)
    expect(resolved.jsonSchema).toBe(schema)
    expect(resolved.unchecked).toEqual([
      '$ref',
      'dependentRequired',
      'dependentSchemas',
      'else',
      'if',
      'not',
      'then',
      'unevaluatedProperties',
    ])
    expect(await resolved.validate({ a: 0, b: 1, if: 'kept' })).toEqual({ ok: true, value: { a: 0, b: 1, if: 'kept' } })
    expect(await resolved.validate({ a: 'x' })).toMatchObject({ ok: false, issues: [{ path: 'a' }] })
    expect(await resolved.validate({ if: 3 })).toMatchObject({ ok: false, issues: [{ path: 'if' }] })
  })

  it.each(['$defs', 'definitions'] as const)('L104: local references through %s are checked', async (place) => {
    const schema = {
      type: 'object',
      properties: { at: { $ref: `#/${place}/city` } },
      [place]: { city: { type: 'string' } },
    } as JSONSchema7
    const { validate, unchecked } = await resolveSchema(schema)
    expect(unchecked).toEqual([])
    expect(await validate({ at: 1 })).toMatchObject({ ok: false, issues: [{ path: 'at' }] })
  })

  it('L104: one object is resolved once', () => {
    const schema = z.object({})
    expect(resolveSchema(schema)).toBe(resolveSchema(schema))
  })

  it('L104: a schema that cannot be read is an invalid-config error', async () => {
    const error = await resolveSchema({ type: 'nonsense' } as never).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(LlmError.isInstance(error) && error.code).toBe('invalid-config')
  })

  it('L104: a schema that could not be loaded is loaded again by the next call', async () => {
    let loads = 0
    const schema = () => {
      if (++loads === 1) throw new Error('no network')
      return own
    }
    await expect(resolveSchema(schema)).rejects.toMatchObject({ code: 'invalid-config' })
    expect((await resolveSchema(schema)).jsonSchema).toEqual(shape)
    await resolveSchema(schema)
    expect(loads).toBe(2)
  })

  it('L104: an asynchronous check runs once, and its failure is an issue and nothing else', async () => {
    const unhandled: unknown[] = []
    const keep = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', keep)
    let times = 0
    const refined = z.object({ a: z.string().refine(async () => (times++, Promise.reject(new Error('no database')))) })
    expect(await (await resolveSchema(refined)).validate({ a: 'x' })).toMatchObject({ ok: false })
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', keep)
    expect([times, unhandled]).toEqual([1, []])
  })

  it('L104: validateWith returns the same as validate, synchronously for known plain JSON Schema', async () => {
    for (const value of [{ city: 'Oslo' }, { city: 7 }]) {
      for (const schema of [shape, standard, z.object({ city: z.string(), unit: z.string().default('C') })]) {
        expect(await validateWith(schema, value)).toEqual(await (await resolveSchema(schema)).validate(value))
      }
    }
    expect(validateWith(shape, { city: 'Oslo' })).toEqual({ ok: true, value: { city: 'Oslo', unit: 'C' } })
  })

  it('L104: a validator that throws gives an issue, not an exception', async () => {
    const schema = jsonSchema(
      { type: 'object' },
      {
        validate: () => {
          throw new Error('validator broke')
        },
      },
    )
    expect(await (await resolveSchema(schema)).validate({})).toEqual({
      ok: false,
      issues: [{ path: '', message: 'validator broke' }],
    })
  })

  it('L104: a default value is copied too, and a change of it reaches neither the schema nor the next value', async () => {
    const list = { type: 'array', items: {}, default: [{ n: 1 }] } as const
    const plain = { type: 'object', properties: { list } } as unknown as JSONSchema7
    const sent = JSON.stringify(plain)
    for (const schema of [plain, jsonSchema(plain), z.object({ list: z.array(z.any()).default([{ n: 1 }]) })]) {
      const { validate } = await resolveSchema(schema)
      const first = await validate({})
      if (first.ok) (first.value as { list: { n: number }[] }).list.forEach((item) => (item.n = 2))
      expect(await validate({})).toEqual({ ok: true, value: { list: [{ n: 1 }] } })
    }
    expect(JSON.stringify(plain)).toBe(sent)
  })

  it('L104: a default inside an existing object is filled in, also through a reference to the root', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'number', default: 3 }, kids: { type: 'array', items: { $ref: '#' } } },
    } as JSONSchema7
    const { validate } = await resolveSchema(schema)
    expect(await validate({ kids: [{ n: 1 }, {}] })).toEqual({ ok: true, value: { n: 3, kids: [{ n: 1 }, { n: 3 }] } })
    expect(await validate({ kids: [{ kids: [{ n: 'x' }] }] })).toMatchObject({ issues: [{ path: 'kids.0.kids.0.n' }] })
  })

  it('L104: the result of a transform arrives unchanged', async () => {
    const { validate } = await resolveSchema(z.object({ at: z.iso.datetime().transform((value) => new Date(value)) }))
    expect(await validate({ at: '2026-01-01T00:00:00Z' })).toEqual({ ok: true, value: { at: new Date('2026-01-01') } })
  })

  it.each([
    ['pattern', { type: 'string', pattern: '(?i)abc' }, 'ABC'],
    ['pattern', { type: 'string', pattern: '^\\p{L}+$' }, 'é'],
    ['format', { type: 'string', format: 'uri' }, '/relative'],
    ['$dynamicRef', { $dynamicRef: '#node' }, 7],
    ['$dynamicAnchor', { $dynamicAnchor: 'node' }, 7],
    ['$recursiveRef', { $recursiveRef: '#' }, 7],
  ])('L104: %s is not checked if the checker would refuse a valid value: %j', async (keyword, inner, value) => {
    const schema = { type: 'object', properties: { inner } } as unknown as JSONSchema7
    const { validate, unchecked, jsonSchema: sent } = await resolveSchema(schema)
    expect(unchecked).toEqual([keyword])
    expect(await validate({ inner: value })).toEqual({ ok: true, value: { inner: value } })
    expect(sent).toBe(schema)
  })

  it('L104: properties by unreadable patterns are not checked, and neither are the remaining ones', async () => {
    const patternProperties = { '(?i)^x-': { type: 'string' } }
    const schema = { type: 'object', patternProperties, additionalProperties: false } as unknown as JSONSchema7
    const { validate, unchecked } = await resolveSchema(schema)
    expect(unchecked).toEqual(['additionalProperties', 'patternProperties'])
    expect(await validate({ 'X-a': 'b' })).toEqual({ ok: true, value: { 'X-a': 'b' } })
  })

  it.each<[string, JSONSchema7]>([
    ['without a type', { properties: { a: { type: 'string' } }, required: ['a'] }],
    ['that is not described', { type: 'object', required: ['a'] }],
    ['of an alternative', { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }] }],
    ['of what may be null', { type: ['object'], required: ['a'] }],
    ['of one part', { allOf: [{ type: 'object', properties: { b: {} } }, { required: ['a'] }] }],
    ['that all others describe', { type: 'object', additionalProperties: { type: 'string' }, required: ['a'] }],
  ])('L104: a required property %s is required', async (_, schema) => {
    const { validate, unchecked } = await resolveSchema(schema)
    expect(unchecked).toEqual([])
    expect(await validate({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } })
    expect(await validate({ b: 'x' })).toMatchObject({ ok: false, issues: [{ path: 'a' }] })
  })

  it('L104: a check that does not end gives an issue, not an exception', async () => {
    const loop = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } } as JSONSchema7
    expect(await (await resolveSchema(loop)).validate(1)).toMatchObject({ ok: false, issues: [{ path: '' }] })
    const deep = Array.from({ length: 20_000 }).reduce<object>((kid) => ({ kid }), {})
    const { validate } = await resolveSchema({ type: 'object', properties: { kid: { $ref: '#' } } } as JSONSchema7)
    expect(await validate(deep)).toMatchObject({ ok: false, issues: [{ path: '' }] })
  })

  it('L104: a validator that throws a value other than an Error gives an issue too', async () => {
    const thrown: unknown = Object.create(null)
    const validate = (): never => {
      throw thrown
    }
    const schema = jsonSchema({ type: 'object' }, { validate })
    expect(await (await resolveSchema(schema)).validate({})).toMatchObject({ ok: false, issues: [{ path: '' }] })
  })

  it.each([null, undefined, true, 'schema'])('L104: %j is not a schema, and gives an invalid-config error', async (schema) => {
    await expect(resolveSchema(schema as never)).rejects.toMatchObject({ code: 'invalid-config' })
  })

  it('L104: checked schemas leave nothing in the registry that the caller shares with zod', async () => {
    await resolveSchema({ id: 'of-a-tool', type: 'object', properties: { a: { title: 'x', type: 'string' } } } as never)
    expect(JSON.stringify(z.toJSONSchema(z.globalRegistry))).not.toContain('of-a-tool')
  })
})

describe('jsonSchemaOf', () => {
  it.each([
    ['plain JSON Schema', shape],
    ['a Standard Schema', standard],
    ['a schema of the AI SDK', own],
  ])('returns the JSON Schema of %s without waiting', (_kind, schema) => {
    expect(jsonSchemaOf(schema as never)).toMatchObject(shape)
  })

  it('returns that of zod', () => {
    expect(jsonSchemaOf(z.object({ city: z.string() }))).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    })
  })

  it('returns undefined for a schema that must be loaded, until it was', async () => {
    const loaded = jsonSchema(Promise.resolve(shape))
    expect(jsonSchemaOf(loaded)).toBeUndefined()
    await resolveSchema(loaded)
    expect(jsonSchemaOf(loaded)).toEqual(shape)
  })
})
