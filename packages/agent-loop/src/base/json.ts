import type { JSONValue } from '@bowline/llm'

export { isRecord } from '@bowline/llm/arguments'

/** Names the place where a value is not JSON. */
export class NotJsonError extends TypeError {
  /** Keys from the root of the value down to the part that is not JSON. */
  readonly keys: readonly (string | number)[]

  constructor(message: string, keys: readonly (string | number)[]) {
    super(message)
    this.keys = [...keys]
  }
}

/**
 * Returns a fresh copy of a JSON value. Throws `NotJsonError` for values that a JSON round trip would change: functions, dates,
 * class instances, `NaN`, bigints, holes, cycles. Leaves out keys whose value is `undefined`. `at` is the path of the value, for
 * errors.
 */
export function copyJson(value: unknown, at: readonly string[] = []): JSONValue {
  return copy(value, { objects: [], keys: [...at], written: false, frozen: false })
}

/** As `copyJson`, but the copy is deeply frozen. */
export function frozenJson(value: unknown): JSONValue {
  return copy(value, { objects: [], keys: [], written: false, frozen: true })
}

/**
 * Returns a copy as `JSON.stringify` writes it: a class instance becomes its fields, or the result of its `toJSON`. Throws
 * `NotJsonError` for values that would be lost: functions, `NaN`, bigints, holes, cycles, and instances without a field, like a
 * `Map`.
 */
export function writtenJson(value: unknown): JSONValue {
  return copy(value, { objects: [], keys: [], written: true, frozen: false })
}

/** The objects around a value, from the outermost, and the key in each. */
interface Path {
  readonly objects: object[]
  readonly keys: (string | number)[]
  readonly written: boolean
  readonly frozen: boolean
}

function copy(value: unknown, path: Path): JSONValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0
  if (typeof value !== 'object') throw notJson(value, path)
  if (path.objects.includes(value)) throw new NotJsonError(`${place(path)} contains itself`, path.keys)
  path.objects.push(value)
  const result = Array.isArray(value) ? copyArray(value, path) : copyObject(value, path)
  path.objects.pop()
  return path.frozen ? Object.freeze(result) : result
}

function copyArray(value: readonly unknown[], path: Path): JSONValue {
  const result: JSONValue[] = []
  for (let index = 0; index < value.length; index++) {
    path.keys.push(index)
    result.push(copy(value[index], path))
    path.keys.pop()
  }
  return result
}

function copyObject(value: object, path: Path): JSONValue {
  if (path.written && 'toJSON' in value && typeof value.toJSON === 'function') return copy((value as { toJSON(): unknown }).toJSON(), path)
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null
  if (!isPlain && !(path.written && Object.keys(value).length > 0)) throw notJson(value, path)
  const result: Record<string, JSONValue> = {}
  for (const key of Object.keys(value)) {
    const item = (value as Readonly<Record<string, unknown>>)[key]
    if (item === undefined) continue
    path.keys.push(key)
    const copied = copy(item, path)
    path.keys.pop()
    if (key === '__proto__') define(result, key, copied)
    else result[key] = copied
  }
  return result
}

/** A plain assignment to `__proto__` would set the prototype and lose the entry. */
function define(target: Record<string, JSONValue>, key: string, value: JSONValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

function notJson(value: unknown, path: Path): NotJsonError {
  const kind = typeof value === 'object' && value !== null ? classOf(value) : typeof value === 'number' ? String(value) : typeof value
  return new NotJsonError(`${place(path)} is not a JSON value (${kind})`, path.keys)
}

function classOf(value: { readonly constructor?: { readonly name?: string } }): string {
  return value.constructor?.name ?? 'object'
}

function place({ keys }: Path): string {
  return keys.length === 0 ? 'the value' : `/${keys.join('/')}`
}

/** Freezes a JSON value deeply. Skips values that are frozen already: this function has frozen them, deeply. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) freezeWithin(Object.freeze(value))
  return value
}

/**
 * Freezes everything in a JSON value, but not the value itself. Calls nothing for primitives, which most items are. A loop over the
 * keys takes half the time of `Object.values`, which looks up the keys of every frozen object again.
 */
export function freezeWithin(value: object): void {
  for (const key in value) {
    const item = (value as Readonly<Record<string, unknown>>)[key]
    if (typeof item === 'object' && item !== null && !Object.isFrozen(item) && Object.hasOwn(value, key)) freezeWithin(Object.freeze(item))
  }
}

/**
 * Returns a frozen copy of plain data, for code that might change it. A frozen object is returned as it is, so that a list of
 * stored messages costs one copy of the list.
 */
export function snapshot<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => snapshot(item))) as Value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy = { ...value } as Record<string, unknown>
  for (const key of Object.keys(copy)) copy[key] = snapshot(copy[key])
  return Object.freeze(copy) as Value
}
