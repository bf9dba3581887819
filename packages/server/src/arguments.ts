import { fieldChecks, type ArgumentCheck } from '@bowline/llm/arguments'
import { ServerError } from './server-error.ts'

/** Checks of the options with which a server and its parts are created. */
export const configChecks = fieldChecks((message) => new ServerError('invalid-config', message))

/** Checks of the arguments of the server's methods. */
export const inputChecks = fieldChecks((message) => new ServerError('invalid-input', message))

export const { methods, oneOf, optionalName, required, whole } = configChecks
/** Longest delay of a timer. A longer one fires at once. */
export const longestTimerMs = 2 ** 31 - 1

export const names = configChecks.listOf(configChecks.checkName)

/** Checks for a whole number above 0, or `Infinity` for no limit. */
export const limit: ArgumentCheck = (path, value) => {
  if (value !== undefined)
    configChecks.checkRequired(
      path,
      value,
      'a whole number from 1, or Infinity',
      (given) => given === Infinity || (Number.isSafeInteger(given) && Number(given) > 0),
    )
}
