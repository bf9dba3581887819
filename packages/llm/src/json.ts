import type { JSONValue } from '@ai-sdk/provider'

/** Type of the fields without `undefined`. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Removes the keys whose value is `undefined`, so that the object equals its JSON form. */
export function definedOnly<T extends object>(fields: T): Defined<T> {
  const defined: Partial<Record<keyof T, unknown>> = {}
  // The fastest loop: it runs for most events and for each field of a message.
  for (const key in fields) if (fields[key] !== undefined) defined[key] = fields[key]
  return defined as unknown as Defined<T>
}

/** Reads a property of any value. Returns `undefined` if the getter throws. */
export function field(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * Returns a copy that a JSON round trip does not change. Bytes become base64, dates epoch milliseconds, bigints and URLs texts.
 * Numbers that JSON cannot hold become null. Undefined entries, functions and cycles are left out.
 */
export function toJsonValue(value: unknown): JSONValue {
  return convert(value, new Set()) ?? null
}

function convert(value: unknown, path: Set<object>): JSONValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value + 0 : null
    case 'bigint':
      return value.toString()
    case 'object':
      return value === null ? null : convertObject(value, path)
    default:
      return undefined
  }
}

function convertObject(value: object, path: Set<object>): JSONValue | undefined {
  if (value instanceof Uint8Array) return toBase64(value)
  if (value instanceof Date) return convert(value.getTime(), path)
  if (value instanceof URL) return value.href
  if (path.has(value)) return undefined
  path.add(value)
  const copy = Array.isArray(value) ? Array.from(value, (item: unknown) => convert(item, path) ?? null) : convertEntries(value, path)
  path.delete(value)
  return copy
}

const chunkBytes = 0x8000

/** Works in chunks, because engines limit the number of arguments of a call. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    binary += String.fromCharCode(...bytes.subarray(start, start + chunkBytes))
  }
  return btoa(binary)
}

function convertEntries(value: object, path: Set<object>): JSONValue {
  const copy: Record<string, JSONValue> = {}
  for (const [key, item] of Object.entries(value)) {
    const converted = convert(item, path)
    if (converted === undefined) continue
    // A plain assignment to this key would set the prototype and lose the entry.
    if (key === '__proto__') {
      Object.defineProperty(copy, key, { value: converted, enumerable: true, configurable: true, writable: true })
    } else {
      copy[key] = converted
    }
  }
  return copy
}
