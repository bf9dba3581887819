import { describeValue, suggestion } from '@bowline/llm/arguments'
import { z } from 'zod'
import { BridgeError } from '../errors.ts'

export interface InputIssue {
  readonly path: string
  readonly message: string
}

export function invalidInput(issues: readonly InputIssue[]): BridgeError {
  const named = issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return new BridgeError('PROTOCOL', `Invalid input: ${named}`, { details: { issues: issues.map((each) => ({ ...each })) } })
}

/** One issue for each field that the schema refuses, with the kind of value received. */
export function issuesWith(schema: z.ZodType, value: unknown): readonly InputIssue[] {
  const { error } = parse(schema, value)
  return error?.issues.map((issue) => ({ path: issue.path.join('.'), message: messageOf(issue, schema, value) })) ?? []
}

/** One issue for each field, in the words of the schema. */
export function issuesOf(error: z.ZodError): readonly InputIssue[] {
  return error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
}

function parse(schema: z.ZodType, value: unknown): { readonly error?: z.ZodError | undefined } {
  try {
    return schema.safeParse(value)
  } catch (error) {
    // Nested deeper than the stack.
    if (error instanceof RangeError) throw invalidInput([{ path: '', message: 'too deeply nested' }])
    throw error
  }
}

function messageOf(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): string {
  if (issue.code === 'unrecognized_keys') return unknownKeys(issue, schemaAt(schema, issue.path))
  // The schema's own words say it of these.
  if (issue.code === 'custom' || issue.message.includes('received')) return issue.message
  return `${issue.message}; received ${describeValue(valueAt(value, issue.path))}`
}

function unknownKeys({ message, keys }: z.core.$ZodIssueUnrecognizedKeys, schema: unknown): string {
  // Runtime params name the nearest field themselves.
  if (message.includes('did you mean')) return message
  const [unknown = ''] = keys
  return message + (schema instanceof z.ZodObject ? suggestion(unknown, Object.keys(schema.shape)) : '')
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, name) => (at as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[name], value)
}

function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, name) => (at instanceof z.ZodObject ? unwrapped(at.shape[String(name)]) : undefined), schema)
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? unwrapped(schema.unwrap()) : schema
}
