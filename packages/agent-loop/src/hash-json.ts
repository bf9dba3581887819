import type { JSONValue } from '@bowline/llm'
import { sha256 } from '@noble/hashes/sha2.js'
import serialize from 'canonicalize'

/** JSON with sorted keys and one way to write each value (RFC 8785): equal values give equal text. */
export function canonicalJson(value: JSONValue): string {
  return serialize(value) ?? 'null'
}

/** SHA-256 of the canonical JSON, base64url. */
export function hashJson(value: JSONValue): string {
  const digest = sha256(new TextEncoder().encode(canonicalJson(value)))
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
