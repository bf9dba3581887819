import type { JSONValue } from '@bowline/llm'
import { sha256 } from '@noble/hashes/sha2.js'
import serialize from 'canonicalize'

const encoder = new TextEncoder()

/** JSON with sorted keys and one way to write each value (RFC 8785): equal values give equal text. */
export function canonicalJson(value: JSONValue): string {
  return serialize(value) ?? 'null'
}

/** SHA-256 of the canonical JSON, base64url. */
export function hashJson(value: JSONValue): string {
  return hashText(canonicalJson(value))
}

/** SHA-256 of the UTF-8 text, base64url. */
export function hashText(text: string): string {
  const digest = sha256(encoder.encode(text))
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
