import { argumentChecks, describeValue } from './arguments.ts'
import { isRecord } from './json.ts'
import { LlmError } from './model-error.ts'

/** Checks of settings: each throws `LlmError` `invalid-config` that names the argument by its path. */
export const check = argumentChecks((message) => new LlmError('invalid-config', message))

/** The same for data that a function works on: each throws `invalid-input`. */
export const checkInput = argumentChecks((message) => new LlmError('invalid-input', message))

/** Throws `invalid-config`: what the setting must be, and the kind of value that it is. */
export function refuseSetting(path: string, wanted: string, value: unknown): never {
  throw new LlmError('invalid-config', `${path} must be ${wanted}; received ${describeValue(value)}`)
}

export function checkClock(path: string, clock: unknown): void {
  check.checkMethods(path, clock, ['now', 'setTimer'])
}

/** An object of which each field passes `checkField`. Fields that are `undefined` are absent. */
export function checkFields(path: string, value: unknown, checkField: (path: string, field: unknown) => void): void {
  if (value === undefined) return
  check.checkObject(path, value)
  for (const [name, field] of Object.entries(value as object)) if (field !== undefined) checkField(`${path}.${name}`, field)
}

export function checkProviderOptions(path: string, options: unknown): void {
  checkFields(path, options, check.checkObject)
}

export const { checkItems } = check

/** An object that must be given, with its fields. */
export function fieldsOf(path: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  check.checkKeys(path, value, known)
  return value as Readonly<Record<string, unknown>>
}

/** The same for an object that may be absent: then it has no fields. */
export function optionalFieldsOf(path: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  check.checkOptions(path, value, known)
  return isRecord(value) ? value : {}
}
