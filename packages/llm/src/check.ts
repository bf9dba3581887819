import { argumentChecks, describeValue, fieldChecks } from './arguments.ts'
import { LlmError } from './model-error.ts'

/** Checks for settings. A violation is an `LlmError` with code `invalid-config` that names the argument by its path. */
export const check = fieldChecks((message) => new LlmError('invalid-config', message))

/** Checks for data that a function processes. A violation is `invalid-input`. */
export const checkInput = argumentChecks((message) => new LlmError('invalid-input', message))

/** Throws `invalid-config` with what the setting must be and the kind of value received. */
export function refuseSetting(path: string, wanted: string, value: unknown): never {
  throw new LlmError('invalid-config', `${path} must be ${wanted}; received ${describeValue(value)}`)
}

export function checkClock(path: string, clock: unknown): void {
  check.checkMethods(path, clock, ['now', 'setTimer'])
}

export function checkProviderOptions(path: string, options: unknown): void {
  check.checkValues(path, options, check.checkObject)
}

export const { checkItems, checkValues } = check

/** Returns the fields of a required object. Throws for unknown ones. */
export function fieldsOf(path: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  check.checkKeys(path, value, known)
  return value as Readonly<Record<string, unknown>>
}

/** Like `fieldsOf`, but an absent object has no fields. */
export function optionalFieldsOf(path: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : fieldsOf(path, value, known)
}
