import { SessionError } from './errors.ts'

/**
 * Throws `invalid-input` for a value that JSON would lose or change. A property that is `undefined` counts as absent. The error
 * names the path, never the value.
 */
export function checkJson(value: unknown, what: string): void {
  // Searches for the path only if there is an error.
  if (!isPlain(value, 0)) checkValue(value, what, new Set())
}

const usualDepth = 100

/** Returns false if the value is not JSON or is nested too deep for this quick check. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > usualDepth) return false
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const item of Object.values(value)) if (item !== undefined && !isPlain(item, depth + 1)) return false
  return true
}

/** Returns a copy, because the caller may change its value at any time. Throws as `checkJson` does. */
export function checkedCopy<T>(value: T, what: string): T {
  const copy = copyPlain(value, 0)
  if (copy !== notPlain) return copy as T
  checkValue(value, what, new Set())
  return copyJson(value)
}

const notPlain = Symbol('not plain')

/** Returns the copy, or `notPlain` if the value is not JSON or is nested too deep for this quick copy. */
function copyPlain(value: unknown, depth: number): unknown {
  // JSON has no -0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : notPlain
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value !== 'object' || depth > usualDepth) return notPlain
  if (Array.isArray(value)) return copyOfItems(value, depth)
  if (Object.getPrototypeOf(value) !== Object.prototype) return notPlain
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    const item = (value as Record<string, unknown>)[name]
    if (item === undefined) continue
    const own = name === '__proto__' ? notPlain : copyPlain(item, depth + 1)
    if (own === notPlain) return notPlain
    copy[name] = own
  }
  return copy
}

function copyOfItems(items: readonly unknown[], depth: number): unknown {
  const copy: unknown[] = []
  for (const item of items) {
    const own = copyPlain(item, depth + 1)
    if (own === notPlain) return notPlain
    copy.push(own)
  }
  return copy
}

/** Returns a copy of a JSON value. It shares nothing with the value. */
export function copyJson<T>(value: T): T {
  const copy = copyPlain(value, 0)
  return (copy === notPlain ? JSON.parse(JSON.stringify(value)) : copy) as T
}

function checkValue(value: unknown, path: string, above: Set<object>): void {
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
    value.forEach((item, index) => checkValue(item, `${path}[${index}]`, above))
  } else {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
      throw notJson(path, 'not a plain object')
    }
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) checkValue(item, `${path}.${key}`, above)
    }
  }
  above.delete(value)
}

function notJson(path: string, why: string): SessionError {
  return new SessionError('invalid-input', `${path} is ${why}; only JSON values can be stored`)
}

/** Parses a stored text. Throws `store-corrupt` if it is not JSON. */
export function parseStored<T>(text: string, where: string): T {
  try {
    return JSON.parse(text) as T
  } catch {
    throw new SessionError('store-corrupt', `${where} is damaged: its stored text is not JSON. Restore a backup`)
  }
}

/** Estimates the memory that a JSON value takes: the characters of its texts, plus a few for every other value. */
export function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return ofOther
  let characters = ofOther
  for (const key in value) characters += charactersIn((value as Readonly<Record<string, unknown>>)[key])
  return characters
}

const ofOther = 8
