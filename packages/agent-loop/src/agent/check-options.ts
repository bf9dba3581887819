import { runtimeParamsSchema } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import { isRecord } from '../json.ts'

/** Throws `invalid-config` that names what is wrong. */
export function refuseConfig(message: string): never {
  throw new AgentError('invalid-config', message)
}

export function checkKeys(what: string, options: object, known: readonly string[]): void {
  if (!isRecord(options)) refuseConfig(`${what} needs options`)
  const unknown = Object.keys(options).find((key) => !known.includes(key))
  if (unknown !== undefined) refuseConfig(`${what} has no option "${unknown}"`)
}

export function checkWhole(name: string, value: number | undefined, least: number): void {
  if (value === undefined) return
  if (!Number.isSafeInteger(value) || value < least) refuseConfig(`${name} must be a whole number from ${least}`)
}

/** Null is none. */
export function checkWholeOrNull(name: string, value: number | null | undefined, least: number): void {
  if (value !== null) checkWhole(name, value, least)
}

export function checkOneOf(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) refuseConfig(`${name} must be one of ${allowed.join(', ')}`)
}

export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuseConfig(`${name} must be a function`)
}

export function checkNumber(name: string, value: number | undefined, least: number): void {
  if (value !== undefined && !(Number.isFinite(value) && value >= least)) refuseConfig(`${name} must be a number from ${least}`)
}

/** A decimal as text without exponent, or a number that is written so. */
export function checkDecimal(name: string, value: string | number | undefined): void {
  if (value === undefined || /^\d+(\.\d{1,9})?$/.test(String(value))) return
  refuseConfig(`${name} must be a decimal number like "2.50", with at most 9 decimals`)
}

export function checkBoolean(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') refuseConfig(`${name} must be true or false`)
}

export function checkList(name: string, value: unknown): void {
  if (value !== undefined && !Array.isArray(value)) refuseConfig(`${name} must be a list`)
}

export function checkSignal(name: string, value: unknown): void {
  if (value === undefined || (isRecord(value) && 'aborted' in value && typeof value['addEventListener'] === 'function')) return
  refuseConfig(`${name} must be an AbortSignal`)
}

export function checkJournal(value: unknown): void {
  checkMethods('journal', value, ['load', 'commit'])
  checkSignal('journal.abortSignal', (value as { readonly abortSignal?: unknown }).abortSignal)
}

export function checkMethods(name: string, value: unknown, methods: readonly string[]): void {
  if (isRecord(value) && methods.every((method) => typeof value[method] === 'function')) return
  refuseConfig(`${name} must be an object with ${methods.join(' and ')}`)
}

export function checkToolChoice(value: unknown): void {
  if (value === undefined || value === 'auto' || value === 'none' || value === 'required') return
  if (isRecord(value) && typeof value['toolName'] === 'string') return
  refuseConfig('toolChoice must be auto, none, required or { toolName }')
}

export function checkRuntimeParams(value: unknown): void {
  if (value === undefined) return
  const [issue] = runtimeParamsSchema.safeParse(value).error?.issues ?? []
  if (issue) refuseConfig(`${['runtimeParams', ...issue.path].join('.')}: ${issue.message}`)
}

export function checkText(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'string') refuseConfig(`${name} must be a text`)
}
