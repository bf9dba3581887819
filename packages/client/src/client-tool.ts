import type { PendingToolCall, ToolEffect } from '@bowline/agent-loop/events'
import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import { inputChecks, json } from './arguments.ts'
import type { JsonValue } from './wire.ts'

/** Client tools by name. The agent uses the same names. */
export type ClientTools = Readonly<Record<string, ClientTool>>

/** A tool that runs in this page or process. */
export interface ClientTool {
  /**
   * Runs the tool and returns the result for the model. Undefined becomes `'done'`, a string a text, content stays content, and
   * other JSON stays JSON. An object with `output`, and at most `details` (for the page) and `isError` besides, is a full answer.
   * If the tool throws, or returns a value that is not JSON (such as a `Date`), the model gets an error; it names the path of the
   * value.
   */
  // Declared as a method, so that a tool with a narrower input type fits.
  execute(input: JsonValue, context: ClientToolContext): unknown
  /** Schema that the input must match. `execute` gets the parsed value. */
  readonly inputSchema?: InputSchema
  /**
   * Whether a call that may already have run can run again. A call that waited before the page was loaded runs by itself only if it
   * is `pure` or `idempotent`. The default, `once`, needs a confirmation.
   */
  readonly effect?: ToolEffect
}

/** Facts of one tool call and its abort signal. */
export interface ClientToolContext {
  readonly toolCallId: string
  /** Aborted when the reading ends, or when the call was answered or cancelled elsewhere. */
  readonly abortSignal: AbortSignal
}

/** Interface of Standard Schema, which validation libraries implement. */
export interface InputSchema {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult | Promise<SchemaResult>
  }
}

type SchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }

interface Answer {
  readonly output: JsonValue
  readonly details?: JsonValue
  readonly isError?: boolean
}

export type Outcome = Answer | { readonly error: string }

/** Returns the check of client tools by name. */
export function toolsCheck({ checkRequired, oneOf, optional, record, requiredFunction, valuesOf }: typeof inputChecks): ArgumentCheck {
  const tool: FieldChecks<ClientTool> = {
    execute: requiredFunction,
    inputSchema: optional((path, value) => checkRequired(path, value, 'a Standard Schema', isStandardSchema)),
    effect: oneOf('pure', 'idempotent', 'once'),
  }
  return valuesOf(record(tool))
}

/** Returns true also for a function with the property: a schema of ArkType is one. */
function isStandardSchema(value: unknown): boolean {
  const standard = (value as { readonly '~standard'?: { readonly validate?: unknown } } | null)?.['~standard']
  return typeof standard?.validate === 'function'
}

/** Runs the tool and resolves with its outcome. Never rejects. */
export async function outcomeOf(call: PendingToolCall, tool: ClientTool, abortSignal: AbortSignal): Promise<Outcome> {
  try {
    const input = await checkedInput(call.input, tool.inputSchema)
    const value = await tool.execute(input, { toolCallId: call.toolCallId, abortSignal })
    return answerOf(value)
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

async function checkedInput(input: JsonValue, schema: InputSchema | undefined): Promise<JsonValue> {
  if (!schema) return input
  const result = await schema['~standard'].validate(input)
  if (!result.issues) return result.value as JsonValue
  const reasons = result.issues.map(({ message, path }) => (path?.length ? `${path.map(nameOf).join('.')}: ${message}` : message))
  throw new Error(`The input does not fit the tool: ${reasons.join('; ')}`)
}

/** Returns the key of a path segment. A segment is a key or an object that holds one. */
function nameOf(segment: unknown): string {
  return String((segment as { readonly key?: unknown } | null)?.key ?? segment)
}

const answerKeys: readonly string[] = ['output', 'details', 'isError']

/** Returns a copy, because a retry must send the same answer. Throws for a value that is not JSON and names its path. */
function answerOf(returned: unknown): Answer {
  const keys = Object.keys(returned ?? {})
  const isLong = keys.includes('output') && keys.every((key) => answerKeys.includes(key))
  const answer = (isLong ? returned : { output: returned }) as Answer
  json('output', answer.output)
  json('details', answer.details)
  inputChecks.checkBoolean('isError', answer.isError)
  return { output: 'done', ...(JSON.parse(JSON.stringify(answer)) as Partial<Answer>) }
}
