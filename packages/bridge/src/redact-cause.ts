import { createRedaction } from '@bowline/llm'
import type { Redaction } from '@bowline/llm'

const maxDepth = 6
const maxEntries = 100

/**
 * Returns a function that copies a thrown value for logging, without secrets. Errors stay errors with name, message, stack, cause
 * and fields, all visible as JSON. Stacks and paths are kept, because a log stays on this machine; `errorBody` removes them from
 * output.
 */
export function causeRedaction(redaction: Redaction): (cause: unknown) => unknown {
  function copyOf(value: unknown, known: Map<object, unknown>, depth: number): unknown {
    if (typeof value === 'string') return redaction.text(value)
    if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`
    if (typeof value !== 'object' || value === null) return value
    if (known.has(value)) return known.get(value)
    if (value instanceof Date) return value
    if (value instanceof URL) return redaction.text(value.href)
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
    if (depth >= maxDepth) return '[object]'
    return copyOfObject(value, known, depth)
  }

  /** Copies instances by their fields too: errors of client libraries contain requests with their headers. */
  function copyOfObject(value: object, known: Map<object, unknown>, depth: number): unknown {
    const copy: object = Array.isArray(value) ? [] : value instanceof Error ? copyOfError(value) : {}
    known.set(value, copy)
    for (const name of fieldsOf(value)) {
      const field = isSecret(name) ? '[redacted]' : copyOf(readField(value, name), known, depth + 1)
      Object.defineProperty(copy, name, { value: field, enumerable: true, configurable: true, writable: true })
    }
    return copy
  }

  function copyOfError(error: Error): Error {
    const copy = new Error()
    // Enumerable, because loggers such as pino log fields as JSON, which shows only enumerable fields of an error.
    const said = {
      name: String(error.name),
      message: redaction.text(String(error.message)),
      stack: redaction.text(String(error.stack ?? '')),
    }
    for (const [name, value] of Object.entries(said))
      Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true })
    return copy
  }

  /** The redaction decides by the field name alone. */
  function isSecret(name: string): boolean {
    return (redaction.value({ [name]: '' }) as Readonly<Record<string, unknown>>)[name] !== ''
  }

  return (cause) => {
    try {
      return copyOf(cause, new Map(), 0)
    } catch {
      // A getter or proxy of the thrown value threw itself.
      return '[unreadable]'
    }
  }
}

const standard = createRedaction()

/** Returns a thrown value as text, with its stack if there is one. */
export function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return standard.text(String(cause))
  return standard.text(cause.stack ?? cause.message)
}

function fieldsOf(value: object): readonly string[] {
  const names = Object.keys(value).slice(0, maxEntries)
  return value instanceof Error && value.cause !== undefined && !names.includes('cause') ? [...names, 'cause'] : names
}

function readField(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name]
  } catch {
    return '[unreadable]'
  }
}
