import { fieldChecks, type ArgumentCheck } from '@bowline/llm/arguments'
import { ClientError } from './client-error.ts'

/** Checks of the options with which a client is created. */
export const configChecks = fieldChecks((message) => new ClientError('invalid-config', message))

/** Checks of the arguments of every other call. */
export const inputChecks = fieldChecks((message) => new ClientError('invalid-input', message))

const { checkRequired, required } = inputChecks
const deepestJson = 500

/** Checks a list in which no item may be absent. */
export const listOf = (check: ArgumentCheck): ArgumentCheck => inputChecks.listOf(required(check))

/** Refuses values that JSON would silently drop or change. */
export const json: ArgumentCheck = (path, value) => {
  if (value !== undefined) checkJson(path, value, 0)
}

export const jsonObject: ArgumentCheck = (path, value) => {
  inputChecks.checkObject(path, value)
  json(path, value)
}

/** Refuses values that no request can carry. Their failure would look like a lost connection and be retried for minutes. */
export function isHeader(value: unknown): value is string {
  return typeof value === 'string' && isHeaders({ 'x-value': value })
}

export function isHeaders(value: unknown): boolean {
  const fields = Object.entries(value as object)
  try {
    new Headers(fields)
    return fields.every(([, field]) => typeof field === 'string')
  } catch {
    return false
  }
}

function checkJson(path: string, value: unknown, depth: number): void {
  checkRequired(path, value, 'JSON', isJsonValue)
  if (typeof value !== 'object' || value === null) return
  checkRequired(path, value, `at most ${deepestJson} levels of JSON`, () => depth < deepestJson)
  if (Array.isArray(value)) return listOf((place, item) => checkJson(place, item, depth + 1))(path, value)
  for (const [name, item] of Object.entries(value)) if (item !== undefined) checkJson(`${path}.${name}`, item, depth + 1)
}

/** Checks the value itself, not the values in it. */
function isJsonValue(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return value === null || ['string', 'boolean', 'object'].includes(typeof value)
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
