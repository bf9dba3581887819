import type { JSONValue } from '@bowline/llm'

/** Says where a value stops being JSON. */
export class NotJsonError extends TypeError {}

/**
 * A fresh copy of a JSON value. Throws `NotJsonError` for what a round trip would change: functions, dates, class
 * instances, `NaN`, bigints, holes, cycles. Keys whose value is `undefined` are left out.
 */
export function copyJson(value: unknown): JSONValue {
  return copy(value, '', new Set())
}

function copy(value: unknown, path: string, above: Set<object>): JSONValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0
  if (typeof value !== 'object') throw notJson(value, path)
  if (above.has(value)) throw new NotJsonError(`${place(path)} contains itself`)
  above.add(value)
  const result = Array.isArray(value) ? copyArray(value, path, above) : copyObject(value, path, above)
  above.delete(value)
  return result
}

function copyArray(value: readonly unknown[], path: string, above: Set<object>): JSONValue {
  return Array.from(value, (item, index) => copy(item, `${path}/${index}`, above))
}

function copyObject(value: object, path: string, above: Set<object>): JSONValue {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(value, path)
  const result: Record<string, JSONValue> = {}
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) define(result, key, copy(item, `${path}/${key}`, above))
  }
  return result
}

/** A plain assignment to `__proto__` would set the prototype and lose the entry. */
function define(target: Record<string, JSONValue>, key: string, value: JSONValue): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

function notJson(value: unknown, path: string): NotJsonError {
  const kind = typeof value === 'object' && value !== null ? value.constructor.name : String(typeof value)
  return new NotJsonError(`${place(path)} is not a JSON value (${kind})`)
}

function place(path: string): string {
  return path === '' ? 'the value' : path
}

/** Freezes a JSON value and all that is in it. What is frozen already was frozen here, with all that is in it. */
export function deepFreeze<T>(value: T): T {
  if (isLoose(value)) freezeAll(value)
  return value
}

function freezeAll(value: object): void {
  Object.freeze(value)
  if (Array.isArray(value)) return freezeItems(value)
  for (const key in value) {
    const item: unknown = value[key as keyof typeof value]
    if (isLoose(item)) freezeAll(item)
  }
}

function freezeItems(items: readonly unknown[]): void {
  for (const item of items) if (isLoose(item)) freezeAll(item)
}

function isLoose(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
