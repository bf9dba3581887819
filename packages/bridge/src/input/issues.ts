import { describeValue, knownNames } from '@bowline/llm/arguments'
import { z } from 'zod'
import { idWords } from '../arguments.ts'
import { BridgeError } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'

/** An issue of one field. `path` is the field's path in the input. */
export interface InputIssue {
  readonly path: string
  readonly message: string
}

/** `place` is the path of the input; callers over MCP have none. */
export function invalidInput(issues: readonly InputIssue[], place = '', code: BridgeErrorCode = 'PROTOCOL'): BridgeError {
  const placed = issues.map(({ path, message }) => ({ path: joined(place, path), message }))
  const named = placed.map(({ path, message }) => `${path || 'the input'} ${message}`).join('; ')
  return new BridgeError(code, `Invalid input: ${named}`, { details: { issues: placed } })
}

function joined(place: string, path: string): string {
  return place === '' || path === '' ? place + path : `${place}.${path}`
}

/** Returns one issue for each field that the schema refuses, worded like all argument checks. */
export function issuesWith(schema: z.ZodType, value: unknown): readonly InputIssue[] {
  try {
    const { error } = schema.safeParse(value)
    return (
      error?.issues.map((issue) => ({
        path: pathText(issue.path),
        message: messageOf(issue, valueAt(value, issue.path), schemaAt(schema, issue.path)),
      })) ?? []
    )
  } catch (error) {
    // The value is nested too deeply for the stack.
    if (error instanceof RangeError) return [{ path: '', message: 'is nested too deeply' }]
    throw error
  }
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : joined(text, String(key))), '')
}

function messageOf(issue: z.core.$ZodIssue, value: unknown, schema: unknown): string {
  // The messages of some schemas are already complete.
  if (/^has |; received /.test(issue.message)) return issue.message
  if (issue.code === 'unrecognized_keys') return unknownKey(issue.keys, schema)
  const must = issue.message.startsWith('must ') ? issue.message : `must be ${wantedBy(issue)}`
  return `${must}; received ${describeValue(value)}`
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function wantedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return kinds[issue.expected] ?? issue.expected
    case 'too_small':
      return issue.origin === 'string'
        ? 'a text with at least one character'
        : issue.origin === 'array'
          ? 'a list with at least one item'
          : `a whole number from ${lowest(issue)}`
    case 'too_big':
      return `a whole number up to ${issue.maximum}`
    case 'invalid_format':
      return idWords
    case 'invalid_value':
      return `one of ${issue.values.join(', ')}`
    default:
      return 'JSON'
  }
}

function lowest({ minimum, inclusive }: z.core.$ZodIssueTooSmall): number {
  return Number(minimum) + (inclusive === false ? 1 : 0)
}

function unknownKey([unknown = '']: readonly string[], schema: unknown): string {
  return `has no option "${unknown.slice(0, 40)}"${schema instanceof z.ZodObject ? knownNames(unknown, Object.keys(schema.shape)) : ''}`
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
