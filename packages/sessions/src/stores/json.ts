import { SessionError } from '../errors.ts'

/**
 * The JSON text of a value. Throws `invalid-input` for what JSON would lose or change; a property that is `undefined`
 * counts as absent. The text of the error names the place, never the value.
 */
export function jsonText(value: unknown, what: string): string {
  checkJson(value, what, new Set())
  return JSON.stringify(value)
}

/** A copy that shares nothing with the value. */
export function copyJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function checkJson(value: unknown, path: string, above: Set<object>): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (Number.isFinite(value)) return
      throw notJson(path, 'a number that JSON cannot hold')
    case 'object':
      if (value !== null) checkObject(value, path, above)
      return
    default:
      throw notJson(path, `of type ${typeof value}`)
  }
}

function checkObject(value: object, path: string, above: Set<object>): void {
  if (above.has(value)) throw notJson(path, 'part of itself')
  above.add(value)
  if (Array.isArray(value)) {
    value.forEach((item, index) => checkJson(item, `${path}[${index}]`, above))
  } else {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
      throw notJson(path, 'not a plain object')
    }
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) checkJson(item, `${path}.${key}`, above)
    }
  }
  above.delete(value)
}

function notJson(path: string, why: string): SessionError {
  return new SessionError('invalid-input', `${path} is ${why}; only JSON values can be stored`)
}
