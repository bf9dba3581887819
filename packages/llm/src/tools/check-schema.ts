import { isFields } from '../arguments.ts'
import { check, checkItems, refuseSetting } from '../check.ts'
import { LlmError } from '../model-error.ts'

type Found = (path: string, schema: unknown) => void
/** Checks the value of one keyword, and passes on the schemas in it. */
type CheckKeyword = (path: string, value: unknown, found: Found) => void

const is =
  (wanted: string, holds: (value: unknown) => boolean): CheckKeyword =>
  (path, value) =>
    check.checkRequired(path, value, wanted, holds)

const schema: CheckKeyword = (path, value, found) => found(path, value)
const schemas: CheckKeyword = (path, value, found) => checkItems(path, value, found)
const namedSchemas: CheckKeyword = (path, value, found) => {
  check.checkObject(path, value)
  for (const [name, one] of Object.entries(value as object)) found(`${path}.${name}`, one)
}
const oneOrMany: CheckKeyword = (path, value, found) => (Array.isArray(value) ? schemas : schema)(path, value, found)
const anything: CheckKeyword = () => undefined
const isText = (value: unknown): boolean => typeof value === 'string'
const text = is('a text', isText)
const texts: CheckKeyword = (path, value) => {
  check.checkRequired(path, value, 'a list of texts', Array.isArray)
  checkItems(path, value, (place, item) => check.checkRequired(place, item, 'a text', isText))
}
const number = is('a number', Number.isFinite)
const count = is('a whole number from 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
const step = is('a number above 0', (value) => Number.isFinite(value) && Number(value) > 0)
/** The oldest drafts use true or false, next to the limit. */
const edge = is('a number, true or false', (value) => Number.isFinite(value) || typeof value === 'boolean')
const truth = is('true or false', (value) => typeof value === 'boolean')
const list = is('a list', Array.isArray)

const types: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const type = is(`one of ${types.join(', ')}, or a list of them`, (value) => [value].flat().every((one) => types.includes(one)))

/** Checks the value of each keyword of JSON Schema. Unknown keys are allowed. */
const keywords: ReadonlyMap<string, CheckKeyword> = new Map(
  Object.entries({
    $schema: text,
    $id: text,
    id: text,
    $ref: text,
    $defs: namedSchemas,
    definitions: namedSchemas,
    $comment: text,
    type,
    enum: list,
    const: anything,
    default: anything,
    examples: list,
    title: text,
    description: text,
    format: text,
    properties: namedSchemas,
    patternProperties: namedSchemas,
    required: texts,
    additionalProperties: schema,
    propertyNames: schema,
    minProperties: count,
    maxProperties: count,
    items: oneOrMany,
    prefixItems: schemas,
    additionalItems: schema,
    contains: schema,
    minContains: count,
    maxContains: count,
    minItems: count,
    maxItems: count,
    uniqueItems: truth,
    minLength: count,
    maxLength: count,
    pattern: text,
    minimum: number,
    maximum: number,
    exclusiveMinimum: edge,
    exclusiveMaximum: edge,
    multipleOf: step,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    if: schema,
    then: schema,
    else: schema,
    readOnly: truth,
    writeOnly: truth,
    deprecated: truth,
    nullable: truth,
    contentEncoding: text,
    contentMediaType: text,
    dependencies: anything,
    dependentSchemas: namedSchemas,
    dependentRequired: anything,
    unevaluatedItems: schema,
    unevaluatedProperties: schema,
  }),
)

const checked = new WeakSet<object>()

/** Like `checkInputSchema`, for a schema of any type. */
export function checkSchema(path: string, given: unknown): void {
  check.checkName('path', path)
  if (typeof given === 'function') return
  check.checkRequired(path, given, 'a schema: zod, Standard Schema or JSON Schema', isFields)
  if (checked.has(given as object) || !isPlainSchema(given as object)) return
  try {
    checkHasKeyword(path, given as object)
    checkAll(path, given)
  } catch (error) {
    if (LlmError.isInstance(error)) throw error
    throw new LlmError('invalid-config', `${path} cannot be read: ${String(error)}`, { cause: error })
  }
  checked.add(given as object)
}

/**
 * Checks the `inputSchema` of a tool, which must describe an object. Throws `LlmError` `invalid-config` for a value that is
 * neither a function, zod, Standard Schema, a schema of the AI SDK, nor JSON Schema. Each object is checked once.
 */
export function checkInputSchema(path: string, given: unknown): void {
  checkSchema(path, given)
  if (typeof given === 'function' || !isPlainSchema(given as object)) return
  const { type = 'object' } = given as { readonly type?: unknown }
  if (![type].flat().includes('object')) refuseSetting(`${path}.type`, 'object, with values of other types in its properties', type)
}

const sdkSchema = Symbol.for('vercel.ai.schema')

/** Returns whether it is plain JSON Schema, not an object of a schema library. */
export function isPlainSchema(given: object): boolean {
  return !('~standard' in given) && !(sdkSchema in given)
}

/** `{ city: 'string' }` is refused, although JSON Schema allows any key. */
function checkHasKeyword(path: string, given: object): void {
  const names = Object.keys(given)
  if (names.length === 0 || names.some((name) => keywords.has(name) || name.startsWith('$') || name.startsWith('x-'))) return
  refuseSetting(path, `JSON Schema, like { type: 'object', properties: { ${names[0]?.slice(0, 40)}: … } }, or a schema of zod`, given)
}

/** Iterates instead of recursing, because schemas may be deep or circular. */
function checkAll(path: string, given: unknown): void {
  const waiting: [path: string, schema: unknown][] = [[path, given]]
  const seen = new Set<unknown>()
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [place, one] = next
    if (typeof one === 'boolean' || seen.has(one)) continue
    seen.add(one)
    check.checkRequired(place, one, 'a schema: an object, true or false', isFields)
    if (!isPlainSchema(one as object)) continue
    for (const [name, value] of Object.entries(one as object)) {
      if (value !== undefined) keywords.get(name)?.(`${place}.${name}`, value, (below, found) => waiting.push([below, found]))
    }
  }
}
