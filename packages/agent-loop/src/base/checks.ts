import { describeModel, LlmError, runtimeParamsSchema } from '@bowline/llm'
import type { AnyLanguageModel } from '@bowline/llm'
import { argumentChecks } from '@bowline/llm/arguments'
import { AgentError, messageOf } from './agent-error.ts'
import { isRecord } from './json.ts'

const check = argumentChecks((message) => new AgentError('invalid-config', message))

/** Each check throws `invalid-config` that names the option by its path and says what kind of value it received. */
export const {
  checkBoolean,
  checkFields,
  checkFunction,
  checkKeys,
  checkList,
  checkMethods,
  checkName,
  checkNumber,
  checkObject,
  checkOneOf,
} = check
export const { checkRequired, checkSignal, checkText, checkWhole } = check

/** Throws `invalid-config` with this message. */
export function refuseConfig(message: string): never {
  throw new AgentError('invalid-config', message)
}

/** As `checkWhole`, but accepts null. */
export function checkWholeOrNull(path: string, value: unknown, least: number): void {
  if (value !== null) checkWhole(path, value, least)
}

export function checkNotBlank(path: string, value: unknown): void {
  checkRequired(path, value, 'a text that is not blank', (given) => typeof given === 'string' && given.trim() !== '')
}

const decimalForm = /^\d+(\.\d{1,9})?$/

/** Accepts a decimal as text without exponent, or a number whose text has that form. */
export function checkDecimal(path: string, value: unknown): void {
  if (value === undefined) return
  checkRequired(path, value, 'a decimal number like "2.50", with at most 9 decimals', (given) => {
    return (typeof given === 'string' || typeof given === 'number') && decimalForm.test(String(given))
  })
}

/** Refuses a value that is no journal, or whose `abortSignal` is no signal. */
export function checkJournal(path: string, value: unknown): void {
  checkRequired(path, value, 'a journal: an object with load and commit', (given) => {
    return isRecord(given) && typeof given['load'] === 'function' && typeof given['commit'] === 'function'
  })
  checkSignal(`${path}.abortSignal`, (value as { readonly abortSignal?: unknown }).abortSignal)
}

export function checkToolChoice(path: string, value: unknown): void {
  if (value === undefined || value === 'auto' || value === 'none' || value === 'required') return
  checkRequired(path, value, 'auto, none, required or { toolName }', isRecord)
  // The AI SDK adds `type` to it.
  checkKeys(path, value, ['toolName', 'type'])
  const { toolName, type } = value as { readonly toolName?: unknown; readonly type?: unknown }
  checkOneOf(`${path}.type`, type, ['tool'])
  checkName(`${path}.toolName`, toolName)
}

/** Checks params by the schema that all packages share. */
export function checkRuntimeParams(value: unknown): void {
  if (value === undefined) return
  checkObject('runtimeParams', value)
  const [issue] = runtimeParamsSchema.safeParse(value).error?.issues ?? []
  if (issue) refuseConfig(`${issue.path.reduce<string>(pathText, 'runtimeParams')} ${issue.message}`)
}

function pathText(text: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`
}

/** Checks of inputs: each throws `invalid-input` that names the place and the kind of value received. */
export const checkInput = argumentChecks((message) => new AgentError('invalid-input', message))

/** Throws `invalid-input` with this message. */
export function refuseInput(message: string): never {
  throw new AgentError('invalid-input', message)
}

/** Throws `invalid-config` unless the value is a model, a name or a function. Only the run finds out whether a name is known. */
export function checkAgentModel(path: string, model: unknown): void {
  if (typeof model !== 'function') checkModel(path, model, 'a model of the AI SDK, the name of one, or a function')
}

/** As `checkAgentModel`, but refuses functions. */
export function checkModel(path: string, model: unknown, wanted = 'a model of the AI SDK or the name of one'): void {
  if (typeof model === 'string' ? model !== '' : isRef(model)) return
  checkRequired(path, model, wanted, isRecord)
  try {
    describeModel({ model: model as AnyLanguageModel })
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    refuseConfig(`${path} must be ${wanted}: ${messageOf(error)}`)
  }
}

function isRef(model: unknown): boolean {
  return isRecord(model) && !('specificationVersion' in model) && isName(model['provider']) && isName(model['model'])
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
