import type { ArgumentCheck, FieldChecks, fieldChecks } from '@bowline/llm/arguments'

export type JsonSchema = Readonly<Record<string, unknown>>

/** Created lazily: only the test that writes `config.schema.json` needs schemas. Undefined if no JSON value passes the check. */
const schemas = new WeakMap<ArgumentCheck, () => JsonSchema | undefined>()

/**
 * Returns undefined if no JSON value can pass the check. Throws for a check without a schema, so that no field is left out
 * unnoticed.
 */
export function schemaOf(check: ArgumentCheck): JsonSchema | undefined {
  const schema = schemas.get(check)
  if (!schema) throw new Error('This check has no schema: make it with withSchema or needsCode')
  return schema()
}

/** Returns the same check with a schema: the schema of `check`, if any, merged with `schema`. */
export function withSchema(schema: JsonSchema, check: ArgumentCheck): ArgumentCheck {
  return keep(
    () => ({ ...schemas.get(check)?.(), ...schema }),
    (path, value) => check(path, value),
  )
}

/** Marks a check that no JSON value passes: functions, stores, patterns. */
export function needsCode(check: ArgumentCheck): ArgumentCheck {
  return keep(
    () => undefined,
    (path, value) => check(path, value),
  )
}

/** Adds a schema for JSON values to each check. */
export function withSchemas(checks: ReturnType<typeof fieldChecks>): ReturnType<typeof fieldChecks> {
  const name = { type: 'string', minLength: 1 }
  return {
    ...checks,
    checkBoolean: withSchema({ type: 'boolean' }, checks.checkBoolean),
    checkText: withSchema({ type: 'string' }, checks.checkText),
    checkName: withSchema(name, checks.checkName),
    optionalName: withSchema(name, checks.optionalName),
    checkFunction: needsCode(checks.checkFunction),
    methods: (...names) => needsCode(checks.methods(...names)),
    requiredMethods: (...names) => needsCode(checks.requiredMethods(...names)),
    required: (check) => keep(() => schemaOf(check), checks.required(check)),
    whole: (least, most = Number.MAX_SAFE_INTEGER) =>
      withSchema({ type: 'integer', minimum: least, maximum: most }, checks.whole(least, most)),
    oneOf: (...allowed) => withSchema({ enum: allowed }, checks.oneOf(...allowed)),
    listOf: (item) => keep(() => around('array', 'items', item), checks.listOf(item)),
    valuesOf: (value) => keep(() => around('object', 'additionalProperties', value), checks.valuesOf(value)),
    record: (fields) => keep(() => recordSchema(fields), checks.record(fields)),
    optionalRecord: (fields) => keep(() => recordSchema(fields), checks.optionalRecord(fields)),
  }
}

function keep(schema: () => JsonSchema | undefined, check: ArgumentCheck): ArgumentCheck {
  schemas.set(check, schema)
  return check
}

function around(type: string, keyword: string, inside: ArgumentCheck): JsonSchema | undefined {
  const schema = schemaOf(inside)
  return schema && { type, [keyword]: schema }
}

function recordSchema<Fields>(fields: FieldChecks<Fields>): JsonSchema {
  const all = Object.entries<ArgumentCheck>(fields).map(([name, check]) => ({ name, check, schema: schemaOf(check) }))
  const known = all.filter(({ schema }) => schema !== undefined)
  const required = known.filter(({ check }) => isRequired(check)).map(({ name }) => name)
  const properties = Object.fromEntries(known.map(({ name, schema }) => [name, schema]))
  return { type: 'object', additionalProperties: false, properties, ...(required.length > 0 && { required }) }
}

function isRequired(check: ArgumentCheck): boolean {
  try {
    check('', undefined)
    return false
  } catch {
    return true
  }
}
