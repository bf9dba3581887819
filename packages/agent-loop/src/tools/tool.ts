import { checkInputSchema, LlmError, validateWith } from '@bowline/llm'
import type { FunctionTool, JSONValue, LanguageModelV4ProviderTool, SchemaResult } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
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
  checkFields(name, fields)
  const { description, inputSchema } = fields as Pick<ToolFields, 'description' | 'inputSchema'>
  return Object.freeze({
    ...fields,
    ...{ name, description, inputSchema },
    effect: fields.effect ?? 'once',
    sequential: fields.sequential ?? false,
    timeoutMs: fields.timeoutMs === undefined ? (fields.execute ? localTimeoutMs : null) : fields.timeoutMs,
    maxOutputCharacters: fields.maxOutputCharacters ?? outputCharacters,
    [marker]: true as const,
  })
}

export function checkToolName(path: string, name: unknown): string {
  checkRequired(path, name, 'a name of letters, digits, _ and -, 64 at most', (given) => typeof given === 'string' && namePattern.test(given))
  return name as string
}

function checkFields(name: string, fields: Partial<ToolFields>): void {
  checkRequired(`the tool ${name}: description`, fields.description, 'a text', (given) => typeof given === 'string')
  checkToolSchema(`the tool ${name}: inputSchema`, fields.inputSchema)
  checkText(`the tool ${name}: label`, fields.label)
  checkOneOf(`the tool ${name}: effect`, fields.effect, ['pure', 'idempotent', 'once'])
  checkOneOf(`the tool ${name}: onUnknownOutcome`, fields.onUnknownOutcome, ['stop', 'tell-model'])
  checkWholeOrNull(`the tool ${name}: timeoutMs`, fields.timeoutMs, 1)
  checkWholeOrNull(`the tool ${name}: approvalTimeoutMs`, fields.approvalTimeoutMs, 1)
  checkBoolean(`the tool ${name}: recheck`, fields.recheck)
  checkBoolean(`the tool ${name}: sequential`, fields.sequential)
  checkBoolean(`the tool ${name}: strict`, fields.strict)
  checkWhole(`the tool ${name}: concurrency`, fields.concurrency, 1)
  checkWhole(`the tool ${name}: maxOutputCharacters`, fields.maxOutputCharacters, 1)
  checkFunction(`the tool ${name}: execute`, fields.execute)
  checkFunction(`the tool ${name}: reconcile`, fields.reconcile)
  checkFunction(`the tool ${name}: toModelOutput`, fields.toModelOutput)
  if (typeof fields.needsApproval !== 'function') checkBoolean(`the tool ${name}: needsApproval`, fields.needsApproval)
  checkExamples(`the tool ${name}: inputExamples`, fields.inputExamples)
  checkObject(`the tool ${name}: providerOptions`, fields.providerOptions)
  for (const [provider, options] of Object.entries(fields.providerOptions ?? {})) checkObject(`the tool ${name}: providerOptions.${provider}`, options)
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
    ...{ name, description, inputSchema },
    ...(strict !== undefined && { strict }),
    ...(inputExamples && { inputExamples }),
    ...(providerOptions && { providerOptions }),
  }
}

/** Checks an input by the schema of its tool. Must not reject: a schema that throws is an issue. */
export function validate(tool: Tool | undefined, input: JSONValue): MaybePromise<SchemaResult> {
  if (!tool) return { ok: false, issues: [{ path: '', message: 'the agent has no such tool' }] }
  const checked = validateWith(tool.inputSchema, input)
  return checked instanceof Promise ? checked.catch((error: unknown) => ({ ok: false, issues: [{ path: '', message: messageOf(error) }] })) : checked
}
