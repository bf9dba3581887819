import type { JSONValue } from '@bowline/llm'

/** What must not leave the process with an error. Applied in this order. */
const patterns: readonly (readonly [RegExp, string])[] = [
  // Stack frames, each on a line of its own.
  [/\n\s+at .*/g, ''],
  [/\b(authorization|proxy-authorization|cookie|set-cookie|x-api-key|api-key)(["']?\s*[:=]\s*)[^\r\n]+/gi, '$1$2[redacted]'],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, '[redacted]'],
  [/\b(sk|pk|rk|ghp|gho|ghs|xoxa|xoxb|xoxp|AIza|AKIA)[-_]?[A-Za-z0-9_-]{12,}/g, '[redacted]'],
  [/\b((?:api[-_]?key|access[-_]?token|token|secret|password)["']?\s*[:=]\s*["']?)[^\s"',;&]+/gi, '$1[redacted]'],
  [/file:\/\/\/[^\s"'`)]+/g, '[path]'],
  // An absolute path, not the path of a web address.
  [/(?<![\w:/.\\-])(?:[A-Za-z]:[\\/]|\/)(?:[^\s"'`:()\\/]+[\\/])+[^\s"'`:()\\/]*(?::\d+)*/g, '[path]'],
]

const secretFields = /^(authorization|proxy-authorization|cookie|set-cookie|(x-)?api[-_]?key|.*token|.*secret|password|stack)$/i

export function redactText(text: string): string {
  return patterns.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text)
}

export function redactValue(value: JSONValue): JSONValue {
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map((item: JSONValue) => redactValue(item))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, field]) => field !== undefined) as [string, JSONValue][]
  return Object.fromEntries(fields.map(([name, field]) => [name, secretFields.test(name) ? '[redacted]' : redactValue(field)]))
}
