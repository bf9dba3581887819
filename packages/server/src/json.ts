const escapeSequence = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g

/**
 * Returns JSON on one line for strict readers. Half of a surrogate pair becomes U+FFFD: it has no UTF-8 form, and strict parsers
 * refuse it.
 */
export function encodeJson(value: object): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\ud')) return text
  return text.replace(escapeSequence, (escape, surrogate: string | undefined) => (surrogate === undefined ? escape : '\\ufffd'))
}
