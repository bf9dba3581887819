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
 * Returns JSON with sorted keys and one way to write each value (RFC 8785), so that equal values give equal text. Throws
 * `AgentError` `invalid-input` for a value that is not JSON.
 */
export function canonicalJson(value: JSONValue): string {
  try {
    return serialize(value) ?? 'null'
  } catch (error) {
    throw new AgentError('invalid-input', `value must be JSON: ${messageOf(error)}`, { cause: error })
  }
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
