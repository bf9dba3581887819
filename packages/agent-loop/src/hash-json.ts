import type { JSONValue } from '@bowline/llm'
import serialize from 'canonicalize'

/** JSON with sorted keys and one way to write each value (RFC 8785): equal values give equal text. */
export function canonicalJson(value: JSONValue): string {
  return serialize(value) ?? 'null'
}

/** SHA-256 of the canonical JSON, base64url. */
export async function hashJson(value: JSONValue): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(value)))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
