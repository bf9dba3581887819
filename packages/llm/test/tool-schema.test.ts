import { jsonSchema } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { LlmError, resolveSchema, type JSONSchema7 } from '../src/index.ts'

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
      return typeof city === 'string'
        ? { value: { city, unit: 'C' } }
        : { issues: [{ message: 'not a string', path: [{ key: 'city' }] }] }
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

  it('L104: the value is fresh all the way down', async () => {
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

  it('L104: a schema that cannot be read is a CONFIG error', async () => {
    const error = await resolveSchema({ type: 'nonsense' } as never).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(LlmError.isInstance(error) && error.code).toBe('CONFIG')
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
})
