import type { JSONValue } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { frozenJson } from './json.ts'
import { dropLateFailure, isThenable } from './promises.ts'

// Reads values that the user's code returned, field by field. Each function throws if a value does not fit.

type Fields = Readonly<Record<string, unknown>>

export function refuse(what: string): never {
  throw new TypeError(`the returned value ${what}`)
}

/** Returns undefined if nothing was returned. Throws for an unknown field. */
export function fieldsOf(returned: unknown, known: readonly string[]): Fields | undefined {
  if (returned === undefined) return undefined
  if (typeof returned !== 'object' || returned === null || Array.isArray(returned)) {
    return refuse(`must be an object or undefined; received ${describeValue(returned)}`)
  }
  const unknown = Object.keys(returned).find((key) => !known.includes(key))
  return unknown === undefined ? (returned as Fields) : refuse(`has an unknown field "${unknown}"`)
}

/**
 * Returns undefined if nothing was returned. Throws unless the value has a known `action` and no fields but those of that action.
 */
export function fieldsOfAction<Action extends string>(
  returned: unknown,
  actions: Readonly<Record<Action, readonly string[]>>,
): (Fields & { readonly action: Action }) | undefined {
  if (returned === undefined) return undefined
  const names = Object.keys(actions) as Action[]
  const action = typeof returned === 'object' && returned !== null && 'action' in returned ? returned.action : undefined
  const name = names.find((each) => each === action)
  if (name === undefined) return refuse(`must have an action of ${names.join(', ')}; received ${describeValue(action ?? returned)}`)
  return fieldsOf(returned, ['action', ...actions[name]]) as Fields & { readonly action: Action }
}

/** Returns an object with the field, or an empty object if the value is undefined. */
export function optional<Key extends string, Value>(key: Key, value: Value | undefined): { readonly [Each in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [Each in Key]?: Value }
}

export function text(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return value === undefined || typeof value === 'string' ? value : refuse(`must have a text as ${key}`)
}

export function truth(fields: Fields, key: string): boolean | undefined {
  const value = fields[key]
  return value === undefined || typeof value === 'boolean' ? value : refuse(`must have true or false as ${key}`)
}

export function list(fields: Fields, key: string): readonly unknown[] | undefined {
  const value = fields[key]
  if (value === undefined) return undefined
  return Array.isArray(value) ? Array.from<unknown>(value) : refuse(`must have a list as ${key}`)
}

export function texts(fields: Fields, key: string): readonly string[] | undefined {
  const values = list(fields, key)
  if (values?.some((value) => typeof value !== 'string')) return refuse(`must have texts in ${key}`)
  return values && Object.freeze(values as readonly string[])
}

/** Returns a frozen copy of the field. */
export function json(fields: Fields, key: string): JSONValue | undefined {
  const value = fields[key]
  return value === undefined ? undefined : frozenJson(value)
}

/** Returns the answer of a user's function. Throws for anything but true, false and undefined. */
export function yesOrNo(name: string, answer: unknown): boolean | undefined {
  if (answer === undefined || typeof answer === 'boolean') return answer
  if (isThenable(answer)) dropLateFailure(answer)
  throw new TypeError(`${name} must return true or false; received ${describeValue(answer)}`)
}
