import { argumentChecks } from '@bowline/llm/arguments'
import { ServerError } from './server-error.ts'

/** Throws if the value is not what it must be. `undefined` means absent, unless the value is required. */
export type ArgumentCheck = (path: string, value: unknown) => void

/** Checks of what a server and its parts are made with. */
export const configChecks = argumentChecks((message) => new ServerError('invalid-config', message))

/** Checks of the arguments of the methods of a server. */
export const inputChecks = argumentChecks((message) => new ServerError('invalid-input', message))

const { checkItems, checkMethods, checkName, checkOneOf, checkRequired, checkWhole } = configChecks
/** A longer timer fires at once. */
export const longestTimerMs = 2 ** 31 - 1

export const optionalName: ArgumentCheck = (path, value) => {
  if (value !== undefined) checkName(path, value)
}

export const names: ArgumentCheck = (path, value) => checkItems(path, value, checkName)

export const oneOf =
  (...allowed: readonly string[]): ArgumentCheck =>
  (path, value) =>
    checkOneOf(path, value, allowed)

export const whole =
  (least: number, most?: number): ArgumentCheck =>
  (path, value) =>
    checkWhole(path, value, least, most)

export const methods =
  (...wanted: readonly string[]): ArgumentCheck =>
  (path, value) =>
    checkMethods(path, value, wanted)

/** Refuses undefined too. */
export const required =
  (check: ArgumentCheck): ArgumentCheck =>
  (path, value) =>
    check(path, value ?? null)

/** A whole number above 0. `Infinity` is no limit. */
export const limit: ArgumentCheck = (path, value) => {
  if (value !== undefined) checkRequired(path, value, 'a whole number from 1, or Infinity', (given) => given === Infinity || (Number.isSafeInteger(given) && Number(given) > 0))
}

/** Without the fields that are undefined, so that they hide no default. */
export function definedFields<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields
}
