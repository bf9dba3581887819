import { checkInputSchema, jsonSchemaOf, LlmError, validateWith } from '@bowline/llm'
import type { FunctionTool, JSONValue, LanguageModelV4ProviderTool, SchemaResult } from '@bowline/llm'
import { needed, type ArgumentCheck } from '@bowline/llm/arguments'
import { messageOf } from '../base/agent-error.ts'
import {
  checkBoolean,
  checkFunction,
  checkKeys,
  checkList,
  checkObject,
  checkOneOf,
  checkRequired,
  checkText,
  checkWhole,
  checkWholeOrNull,
  refuseConfig,
} from '../base/checks.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { Tool, ToolFields, toolMarker } from '../contract/agent.ts'

const marker: typeof toolMarker = Symbol.for('bowline.agent-loop.tool') as never
const namePattern = /^[A-Za-z0-9_-]{1,64}$/
const localTimeoutMs = 120_000
const outputCharacters = 50_000

/** Makes a tool, with checks and defaults. All tools are made here. Throws `invalid-config`. */
export function buildTool(fields: Partial<ToolFields>): Tool {
  const name = checkToolName('name', fields.name)
  checkToolFields(`the tool ${name}: `, fields)
  const { description, inputSchema, label, effect = 'once' } = fields as ToolFields
  const tool = {
    ...fields,
    name,
    description,
    inputSchema,
    effect,
    sequential: fields.sequential ?? false,
    timeoutMs: fields.timeoutMs === undefined ? (fields.execute ? localTimeoutMs : null) : fields.timeoutMs,
    maxOutputCharacters: fields.maxOutputCharacters ?? outputCharacters,
    [marker]: true as const,
  }
  // Not enumerable, so that the fields of a tool are options of `defineTool`.
  const toJSON = () => ({ name, description, inputSchema: jsonSchemaOf(inputSchema), label, effect })
  return Object.freeze(Object.defineProperty(tool, 'toJSON', { value: toJSON })) as Tool
}

export function checkToolName(path: string, name: unknown): string {
  checkRequired(
    path,
    name,
    'a name of letters, digits, _ and -, 64 at most',
    (given) => typeof given === 'string' && namePattern.test(given),
  )
  return name as string
}

const wholeOrNull: ArgumentCheck = (path, value) => checkWholeOrNull(path, value, 1)
const whole: ArgumentCheck = (path, value) => checkWhole(path, value, 1)
const fieldChecks: Partial<Record<keyof ToolFields, ArgumentCheck>> = {
  description: (path, value) => checkRequired(path, value, 'a text', (given) => typeof given === 'string'),
  inputSchema: checkToolSchema,
  label: checkText,
  effect: (path, value) => checkOneOf(path, value, ['pure', 'idempotent', 'once']),
  onUnknownOutcome: (path, value) => checkOneOf(path, value, ['stop', 'tell-model']),
  timeoutMs: wholeOrNull,
  approvalTimeoutMs: wholeOrNull,
  recheck: checkBoolean,
  sequential: checkBoolean,
  strict: checkBoolean,
  concurrency: whole,
  maxOutputCharacters: whole,
  execute: checkFunction,
  reconcile: checkFunction,
  toModelOutput: checkFunction,
  needsApproval: (path, value) => typeof value === 'function' || checkBoolean(path, value),
  inputExamples: checkExamples,
  providerOptions: (path, value) => {
    checkObject(path, value)
    for (const [provider, options] of Object.entries(value ?? {})) checkObject(`${path}.${provider}`, options)
  },
}

/** Checks all fields but the name. `place` comes before the name of a field in an error. */
export function checkToolFields(place: string, fields: Partial<ToolFields>): void {
  for (const [name, check] of Object.entries(fieldChecks)) check(place + name, fields[name as keyof ToolFields])
}

export function checkToolSchema(path: string, schema: unknown): void {
  try {
    checkInputSchema(path, schema)
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    refuseConfig(messageOf(error))
  }
}

function checkExamples(path: string, examples: unknown): void {
  checkList(path, examples)
  for (const [index, example] of ((examples ?? []) as readonly unknown[]).entries()) {
    checkKeys(`${path}[${index}]`, example, ['input'])
    checkObject(`${path}[${index}].input`, needed((example as { readonly input?: unknown }).input))
  }
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && marker in value
}

/** A tool that its provider runs. It is passed to the model call; its calls and results are parts of the answer. */
export interface ProviderTool {
  readonly kind: 'provider'
  readonly name: string
  readonly declaration: LanguageModelV4ProviderTool
}

/** Returns the declaration of a tool for the model. */
export function declarationOf(tool: Tool | ProviderTool): FunctionTool | LanguageModelV4ProviderTool {
  return isTool(tool) ? (tool.declaration ?? functionTool(tool)) : tool.declaration
}

function functionTool({ name, description, inputSchema, strict, inputExamples, providerOptions }: Tool): FunctionTool {
  return {
    name,
    description,
    inputSchema,
    ...(strict !== undefined && { strict }),
    ...(inputExamples && { inputExamples }),
    ...(providerOptions && { providerOptions }),
  }
}

/** Checks an input by the schema of its tool. Must not reject: a schema that throws is an issue. */
export function validate(tool: Tool | undefined, input: JSONValue): MaybePromise<SchemaResult> {
  if (!tool) return { ok: false, issues: [{ path: '', message: 'the agent has no such tool' }] }
  const checked = validateWith(tool.inputSchema, input)
  return checked instanceof Promise
    ? checked.catch((error: unknown) => ({ ok: false, issues: [{ path: '', message: messageOf(error) }] }))
    : checked
}
