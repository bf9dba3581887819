import type { JSONValue } from '@bowline/llm'
import { sha256 } from '@noble/hashes/sha2.js'
import serialize from 'canonicalize'
import { AgentError, messageOf } from './agent-error.ts'

/** The part of Node's `crypto` that is used, where it exists. */
interface NativeCrypto {
  hash?(algorithm: string, text: string, encoding: 'base64url'): string
}

const { process } = globalThis as { readonly process?: { getBuiltinModule?(name: string): unknown } }
const native = process?.getBuiltinModule?.('node:crypto') as NativeCrypto | undefined

/**
 * Returns JSON with sorted keys and one way to write each value (RFC 8785), so that equal values give equal text. Half of a
 * surrogate pair, which the standard does not allow, is written as its escape sequence. Throws `AgentError` `invalid-input` for a value
 * that is not JSON.
 */
export function canonicalJson(value: JSONValue): string {
  try {
    return serialize(value) ?? 'null'
  } catch (error) {
    return withHalves(value, error)
  }
}

/** The start of an escape sequence of half of a surrogate pair, not of text that looks like one. */
const halves = /(?<=[^\\](\\\\)*)\\u(?=d)/g

/** Writes a value that the library refuses because of half of a surrogate pair. U+FFFF, which is no character, stands for it meanwhile. */
function withHalves(value: JSONValue, error: unknown): string {
  const message = messageOf(error)
  if (/^Lone/.test(message)) {
    const marked = JSON.parse(JSON.stringify(value).replace(halves, '\\uffff')) as JSONValue
    return canonicalJson(marked).replace(/\uffff(?=d[89a-f])/g, '\\u')
  }
  throw new AgentError('invalid-input', `value must be JSON: ${message}`, { cause: error })
}

/** Returns the SHA-256 of the canonical JSON of a value, in base64url. Throws `AgentError` `invalid-input` for a value that is not JSON. */
export function hashJson(value: JSONValue): string {
  return hashText(canonicalJson(value))
}

/** Returns the SHA-256 of the UTF-8 text, in base64url. */
export function hashText(text: string): string {
  // Must be synchronous: the platform's own digest in browsers returns a promise.
  return native?.hash?.('sha256', text, 'base64url') ?? portableHash(text)
}

const encoder = new TextEncoder()

/** As `hashText`, for platforms without a synchronous digest. */
export function portableHash(text: string): string {
  return btoa(String.fromCharCode(...sha256(encoder.encode(text))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
