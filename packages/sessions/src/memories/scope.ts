import { createHash } from 'node:crypto'
import { describeValue } from '@bowline/llm/arguments'
import { inputChecks, type configChecks } from '../arguments.ts'
import type { MemoryScope } from './types.ts'

const fields = ['tenant', 'user', 'agent'] as const
const maxBytes = 200

/** Throws if the value is not a scope. A field that is `undefined` is refused, because it may be a user that was not found. */
export function checkScope(path: string, scope: unknown, checks: typeof configChecks = inputChecks): asserts scope is MemoryScope {
  checks.checkRequired(path, scope, 'an object with tenant, user or agent', (given) => given !== undefined)
  checks.checkKeys(path, scope, fields)
  const given = Object.entries(scope as object)
  checks.checkRequired(path, scope, 'an object with at least one of tenant, user and agent', () => given.length > 0)
  for (const [name, value] of given) checks.checkRequired(`${path}.${name}`, value, `a text of 1 to ${maxBytes} bytes`, isScopeValue)
}

function isScopeValue(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.isWellFormed() && Buffer.byteLength(value) <= maxBytes
}

/**
 * Returns the prefix of the note ids of a scope, which a colon follows. The prefix of a narrower scope begins with it. Each
 * value is a hash of fixed length, so no two scopes have the same prefix. Stores keep the ids of deleted records, and a hash
 * does not reveal the user.
 */
export function placeOf(scope: MemoryScope): string {
  return fields.map((name) => (scope[name] === undefined ? '' : `${name.charAt(0)}${hashOf(scope[name])}.`)).join('')
}

export function noteIdOf(scope: MemoryScope, key: string): string {
  return `${placeOf(scope)}:${hashOf(key)}`
}

/** Returns a hash of 132 bits. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

export function isSameScope(left: MemoryScope, right: MemoryScope): boolean {
  return fields.every((name) => left[name] === right[name])
}

/** Returns the names of the fields for error texts, without their values. */
export function nameScope(scope: MemoryScope): string {
  const names = fields.filter((name) => scope[name] !== undefined)
  return names.length === 0 ? describeValue(scope) : `the scope of this ${names.join(', ')}`
}
