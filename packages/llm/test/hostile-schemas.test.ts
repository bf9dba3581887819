import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { randomRuns } from '../../../scripts/test-length.ts'
import { checkInputSchema, findSchemaFault, resolveSchema, type JSONSchema7 } from '../src/index.ts'
import { startProcessorTime } from './support.ts'

/** Limit of processor time: far more than a bounded check takes, far less than an unbounded one. */
const longestMs = 1500

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const used = startProcessorTime()
  const result = await work()
  expect(used()).toBeLessThan(longestMs)
  return result
}

const check = (schema: unknown, value: unknown) => timed(async () => (await resolveSchema(schema as JSONSchema7)).validate(value))

/** Each definition refers twice to the next, so expansion gives 2^40 parts. */
function doubling(keyword: 'anyOf' | 'allOf' | 'oneOf'): object {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `d${index}`,
      index === 39 ? { type: 'number' } : { [keyword]: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  )
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
}

const deepValue = (depth: number): object => (depth === 0 ? { end: 1 } : { a: deepValue(depth - 1) })

const hostile: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
  'a pattern that backtracks': [{ properties: { a: { type: 'string', pattern: '^(a|a)*$' } } }, { a: `${'a'.repeat(40)}!` }],
  'a pattern over a long text': [{ properties: { a: { type: 'string', pattern: '^(a?){300}b$' } } }, { a: 'a'.repeat(1_000_000) }],
  'names by a pattern that backtracks': [{ patternProperties: { '^(a|a)*$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }],
  'references that double, any of them': [doubling('anyOf'), { a: 'x' }],
  'references that double, all of them': [doubling('allOf'), { a: 'x' }],
  'references that double, one of them': [doubling('oneOf'), { a: 'x' }],
  'a schema in itself, twice at each level': [
    { properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } }, additionalProperties: false },
    deepValue(60),
  ],
  'many alternatives for many items': [
    { type: 'array', items: { anyOf: Array.from({ length: 500 }, () => ({ type: 'string' })) } },
    Array.from({ length: 100_000 }, () => 0),
  ],
  'unique items in unique items': [
    { $defs: { l: { type: 'array', uniqueItems: true, items: { $ref: '#/$defs/l' } } }, $ref: '#/$defs/l' },
    Array.from({ length: 300 }, () => Array.from({ length: 300 }, (_, n) => [n])),
  ],
  'a long text of a format': [{ properties: { a: { type: 'string', format: 'email' } } }, { a: 'a.'.repeat(200_000) }],
  'hundreds of patterns': [
    { properties: Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`p${n}`, { type: 'string', pattern: `(a${n}){1000}` }])) },
    { p1: 'x' },
  ],
}

describe('schemas from outside', () => {
  it.each(Object.keys(hostile))('V106: %s: the check ends soon, and a part that it could not check is refused', async (name) => {
    const [schema, value] = hostile[name]!
    await check({ type: Array.isArray(value) ? 'array' : 'object', ...schema }, value)
  })

  it.each(['(a|a)*$', '(x+x+)+y', '^[\\w.]+@[^\\s.]+$', 'a{2,5}', '\\d+', '[^\\s]', '^.$', '\\u00e9', 'a/b'])(
    'V106: %s is checked, in the JavaScript syntax',
    async (pattern) => {
      const expression = new RegExp(pattern)
      const { validate, unchecked } = await resolveSchema({ type: 'string', pattern })
      expect(unchecked).toEqual([])
      for (const text of ['', 'a', 'aaa', 'xxy', 'a@b', 'a\u00a0b', '\u2028', '\r', '\u00a0', '\u00e9', 'a/b', '5', 'a.b@c d', '\ufeff']) {
        expect((await validate(text)).ok, JSON.stringify(text)).toBe(expression.test(text))
      }
    },
  )

  it.each(['(?=a)b', '(?<!a)b', '(a)\\1', 'a{1000}{1000}', `${'(a|b)'.repeat(300)}`, '(?:abcdefghij){1000}'])(
    'V106: %s is not run, and is named',
    async (pattern) => {
      const { validate, unchecked } = await resolveSchema({ type: 'string', pattern })
      expect(unchecked).toEqual(['pattern'])
      expect(await validate('anything')).toMatchObject({ ok: true })
    },
  )

  it('V106: a finding in a schema from outside has its place', async () => {
    const deep = (depth: number): object => (depth === 0 ? {} : { items: deep(depth - 1) })
    const of = (schema: object) => findSchemaFault([{ type: 'object' }, schema])
    expect(await of({ properties: { a: { items: { pattern: '(?=a)' } } } })).toMatchObject({
      index: 1,
      path: 'properties.a.items.pattern',
      message: expect.stringContaining('linear time') as string,
    })
    expect(await of({ patternProperties: { '(a)\\1': {} } })).toMatchObject({ path: 'patternProperties' })
    expect(await of(doubling('anyOf'))).toMatchObject({ path: '', message: expect.stringContaining('references') as string })
    expect(await of(deep(40))).toMatchObject({ message: expect.stringContaining('deep') as string })
    expect(await of({ properties: Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`p${n}`, {}])) })).toMatchObject({
      message: expect.stringContaining('more than 2000 parts') as string,
    })
    expect(await of({ type: 'nonsense' })).toMatchObject({
      path: '',
      message: expect.stringContaining('schema.type must be one of string') as string,
    })
    expect(await of({ properties: { pattern: { type: 'string' } }, default: { pattern: '(?=a)' }, required: ['pattern'] })).toBeUndefined()
    expect(await of({ $ref: '#', properties: { a: { $ref: '#' } } })).toBeUndefined()
    const usual = z.toJSONSchema(z.object({ mail: z.email(), id: z.uuid(), at: z.iso.datetime(), tree: z.string().regex(/^[a-z-]+$/) }))
    expect(await of(JSON.parse(JSON.stringify(usual)) as object)).toBeUndefined()
  })

  it.each([
    ['multipleOf', [0, -1, '2', Number.NaN], [0.01, 5]],
    ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'].map(
      (keyword) => [keyword, [-1, 1.5, Infinity, '1'], [0, 3]] as const,
    ),
    ...['minimum', 'maximum'].map((keyword) => [keyword, [Number.NaN, -Infinity, '1'], [-1, 0, 1.5]] as const),
    ...['exclusiveMinimum', 'exclusiveMaximum'].map((keyword) => [keyword, [Number.NaN, '1', null], [-1.5, 0, true]] as const),
  ] as readonly (readonly [string, readonly unknown[], readonly unknown[]])[])(
    'V106, L104: %s that cannot be applied to any value is refused by its place',
    async (keyword, wrong, right) => {
      const schemaWith = (value: unknown) => ({ type: 'object', properties: { a: { [keyword]: value } } }) as JSONSchema7
      const refusal = expect.stringContaining(`properties.a.${keyword} must be a`) as string
      for (const value of wrong) {
        expect(await findSchemaFault([schemaWith(value)])).toMatchObject({ index: 0, message: refusal })
        expect(() => checkInputSchema('tool.inputSchema', schemaWith(value))).toThrow(
          expect.objectContaining({ code: 'invalid-config', message: refusal }),
        )
      }
      for (const value of right) expect(await findSchemaFault([schemaWith(value)])).toBeUndefined()
    },
  )

  it.each([['string'], [['string', 'null']], [[]]])(
    'V106, L104: refuses an input schema of type %j: the input of a tool is an object',
    async (type) => {
      const message = expect.stringContaining('type must be object') as string
      expect(await findSchemaFault([{ type } as JSONSchema7])).toMatchObject({ path: '', message })
      expect(() => checkInputSchema('tool.inputSchema', { type })).toThrow(
        expect.objectContaining({
          code: 'invalid-config',
          message: expect.stringMatching(/^tool\.inputSchema\.type must be object/) as string,
        }),
      )
      for (const good of [{}, { type: 'object' }, { type: ['object', 'null'] }, { anyOf: [{ type: 'object' }] }, z.object({})])
        checkInputSchema('tool.inputSchema', good)
      expect(await resolveSchema({ type: 'string' })).toMatchObject({ jsonSchema: { type: 'string' } })
    },
  )

  const keyword = fc.constantFrom(
    'anyOf',
    'allOf',
    'oneOf',
    'items',
    'additionalProperties',
    'properties',
    'contains',
    'propertyNames',
    'prefixItems',
    'patternProperties',
  )
  const piece = fc.stringMatching(/^[ab.*+?(|){}0-9\\[\]^$-]{1,20}$/)
  const { schema: anySchema } = fc.letrec<{ schema: object; leaf: object }>((tie) => ({
    leaf: fc.oneof(
      fc.constantFrom(
        {},
        { type: 'string' },
        { type: 'number', minimum: 1 },
        { $ref: '#' },
        { $ref: '#/$defs/d' },
        { enum: [1, 'a'] },
        { uniqueItems: true },
      ),
      piece.map((pattern) => ({ pattern })),
    ),
    schema: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      tie('leaf'),
      fc.tuple(keyword, fc.array<object>(tie('schema'), { minLength: 1, maxLength: 3 }), piece).map(([name, inner, pattern]) => {
        if (name === 'properties') return { properties: { a: inner[0], b: inner.at(-1) } }
        if (name === 'patternProperties') return { patternProperties: { [pattern]: inner[0] } }
        return { [name]: ['anyOf', 'allOf', 'oneOf', 'prefixItems'].includes(name) ? inner : inner[0] }
      }),
    ),
  }))
  const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: 'medium' },
      fc.constantFrom(0, 1, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'), tie('value'), { maxKeys: 3 }),
    ),
  }))

  it('V106: no schema blocks the process, whatever the value', async () => {
    const property = fc.asyncProperty(anySchema, anySchema, anyValue, async (root, d, value) => {
      await timed(async () => {
        const { validate } = await resolveSchema({ ...root, $defs: { d } }).catch(() => resolveSchema({}))
        await validate(value)
        await findSchemaFault([{ ...root, $defs: { d } }])
      })
    })
    await fc.assert(property, randomRuns(500))
  })
})
