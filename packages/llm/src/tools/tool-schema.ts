import type { JSONSchema7 } from '@ai-sdk/provider'
import type { FlexibleSchema, Schema } from 'ai'
import { describeValue, isRecord } from '../arguments.ts'
import { field, toJsonValue } from '../json.ts'
import type { JSONValue } from '../messages.ts'
import { LlmError } from '../model-error.ts'
import { checkSchema, isPlainSchema } from './check-schema.ts'
import { checkerOf } from './json-schema-checker.ts'
import type { SchemaIssue, SchemaResult } from './schema-result.ts'

/** A schema in the form for providers, with its validation. */
export interface ToolSchema {
  /** The schema as given, including keywords that `validate` does not check. */
  readonly jsonSchema: JSONSchema7
  /** Validates a value without modifying it. The result is a new value with the schema's defaults filled in. */
  validate(value: unknown): Promise<SchemaResult>
  /** Keywords of the schema that `validate` does not check. */
  readonly unchecked: readonly string[]
}

const resolved = new WeakMap<object, Promise<ToolSchema>>()
/** Settled results of `resolved`, for synchronous access. */
const known = new WeakMap<object, ToolSchema>()

/**
 * Converts zod, Standard Schema, the AI SDK's `jsonSchema()` or plain JSON Schema, once per object. Rejects with `LlmError`
 * `invalid-config` if the schema is invalid.
 */
export function resolveSchema(schema: FlexibleSchema | JSONSchema7): Promise<ToolSchema> {
  const refusal = refusalOf(schema)
  if (refusal) return Promise.reject(refusal)
  const pending = resolved.get(schema)
  if (pending) return pending
  const resolving = resolve(schema).then(
    (toolSchema) => {
      known.set(schema, toolSchema)
      return toolSchema
    },
    (error: unknown) => {
      // Clears the failure, because a schema that is loaded may be there at the next call.
      resolved.delete(schema)
      throw new LlmError('invalid-config', `schema cannot be read: ${messageOf(error)}`)
    },
  )
  resolved.set(schema, resolving)
  return resolving
}

/**
 * Validates a value with a schema. Returns the result synchronously for plain JSON Schema that was resolved before, else a promise.
 * Rejects with `LlmError` `invalid-config` if the schema is invalid.
 */
export function validateWith(schema: FlexibleSchema | JSONSchema7, value: unknown): SchemaResult | Promise<SchemaResult> {
  const resolvedBefore = isSchemaLike(schema) ? known.get(schema) : undefined
  const check = resolvedBefore && checks.get(resolvedBefore)
  return check ? checkWith(check, value) : resolveSchema(schema).then((made) => made.validate(value))
}

/** Returns a previously resolved schema synchronously, or undefined. */
export function knownSchema(schema: FlexibleSchema | JSONSchema7): ToolSchema | undefined {
  return known.get(schema)
}

/**
 * Returns the JSON Schema of a schema synchronously. Returns undefined if it must be loaded, or if its library has no conversion to
 * JSON Schema. Throws `LlmError` `invalid-config` if the schema is invalid.
 */
export function jsonSchemaOf(schema: FlexibleSchema | JSONSchema7): JSONSchema7 | undefined {
  checkSchema('schema', schema)
  const found = known.get(schema)?.jsonSchema ?? (isPlain(schema) ? schema : (field(schema, 'jsonSchema') ?? standardJson(schema)))
  return isRecord(found) && !('then' in found) ? found : undefined
}

/** Returns the input side of a Standard JSON Schema. */
function standardJson(schema: unknown): unknown {
  const converter = field(field(schema, '~standard'), 'jsonSchema') as { input(options: { readonly target: string }): unknown } | undefined
  return converter?.input({ target: 'draft-07' })
}

function refusalOf(schema: unknown): LlmError | undefined {
  try {
    checkSchema('schema', schema)
    return undefined
  } catch (error) {
    if (LlmError.isInstance(error)) return error
    throw error
  }
}

function isSchemaLike(schema: unknown): boolean {
  return typeof schema === 'function' || (typeof schema === 'object' && schema !== null)
}

async function resolve(schema: FlexibleSchema | JSONSchema7): Promise<ToolSchema> {
  if (isPlain(schema)) return plainSchema(schema)
  const { asSchema } = await import('ai')
  const { jsonSchema: pending, validate } = asSchema(schema)
  const jsonSchema = await pending
  const standard = field(schema, '~standard') as StandardSchema | undefined
  // The AI SDK handles zod with zod's own functions. For other schemas, it treats any result with a value as a success, so those
  // are checked here.
  const check = standard && standard.vendor !== 'zod' ? standardCheck(standard) : validate && sdkCheck(validate)
  return check ? toolSchema(jsonSchema, [], check) : plainSchema(jsonSchema)
}

async function plainSchema(jsonSchema: JSONSchema7): Promise<ToolSchema> {
  const { check, unchecked } = await checkerOf(jsonSchema)
  return toolSchema(jsonSchema, unchecked, check)
}

interface StandardSchema {
  readonly vendor: unknown
  validate(value: unknown): unknown
}

/** Checks a value that is already JSON. */
type Check = (value: JSONValue) => SchemaResult | Promise<SchemaResult>

const checks = new WeakMap<ToolSchema, Check>()

function toolSchema(jsonSchema: JSONSchema7, unchecked: readonly string[], check: Check): ToolSchema {
  const made: ToolSchema = { jsonSchema, unchecked, validate: async (value) => checkWith(check, value) }
  checks.set(made, check)
  return made
}

/** Converts an error thrown by a check to an issue of the value. */
function checkWith(check: Check, value: unknown): SchemaResult | Promise<SchemaResult> {
  try {
    const checked = check(toJsonValue(value))
    return checked instanceof Promise ? checked.then(freshResult, failedResult) : freshResult(checked)
  } catch (error) {
    return failedResult(error)
  }
}

function freshResult(result: SchemaResult): SchemaResult {
  return result.ok ? { ok: true, value: fresh(result.value) as JSONValue } : result
}

function failedResult(error: unknown): SchemaResult {
  return { ok: false, issues: issuesOf(error) }
}

/** Always asynchronous. Zod could validate synchronously, but for asynchronous schemas that attempt fails and drops a promise. */
function sdkCheck(validate: NonNullable<Schema['validate']>): Check {
  return async (value) => {
    const result = await validate(value)
    return result.success ? { ok: true, value: result.value as JSONValue } : failedResult(result.error)
  }
}

/** A schema of the user may return anything. A result with neither a value nor issues refuses the value. */
function standardCheck(standard: StandardSchema): Check {
  return async (value) => {
    const result = await standard.validate(value)
    const [checked, issues] = [field(result, 'value'), field(result, 'issues')]
    if (Array.isArray(issues) && issues.length > 0) return failedResult(result)
    const isValue =
      issues === undefined &&
      isRecord(result) &&
      'value' in result &&
      typeof (checked as { then?: unknown } | undefined)?.then !== 'function'
    if (isValue) return { ok: true, value: checked as JSONValue }
    const wrong = issues ?? checked ?? result
    // Ignores a rejection if the wrong result is a promise.
    Promise.resolve(wrong).catch(() => undefined)
    return failedResult(`the schema must return { value } or { issues } with reasons; received ${describeValue(wrong)}`)
  }
}

/** Copies plain data, because values must not share a default, which is an object of the schema. Results of transforms are kept. */
function fresh(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fresh)
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fresh(item)]))
}

function isPlain(schema: FlexibleSchema | JSONSchema7): schema is JSONSchema7 {
  return typeof schema === 'object' && isPlainSchema(schema)
}

/** Returns the issues of a zod error or Standard Schema failure, else the message of the error. */
function issuesOf(error: unknown): SchemaIssue[] {
  const list = [field(error, 'issues'), field(error, 'cause')].find((candidate) => Array.isArray(candidate)) as unknown[] | undefined
  const read = (list ?? []).filter(isRecord).map((issue) => ({ path: pathOf(issue['path']), message: String(issue['message']) }))
  return read.length > 0 ? read : [{ path: '', message: messageOf(error) }]
}

function messageOf(error: unknown): string {
  const message = typeof error === 'string' ? error : field(error, 'message')
  return typeof message === 'string' ? message : 'the schema threw a value that is not an error'
}

function pathOf(path: unknown): string {
  const steps = Array.isArray(path) ? (path as unknown[]) : []
  return steps.map((step) => String(isRecord(step) ? step['key'] : step)).join('.')
}
