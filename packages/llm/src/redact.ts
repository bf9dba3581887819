import { check, checkInput, checkItems, fieldsOf, refuseSetting } from './check.ts'
import { maskSecrets } from './errors/mask-secrets.ts'

/** Field names and patterns to redact, in addition to the built-in ones. */
export interface RedactConfig {
  /** Names of secret fields. Case, `-` and `_` are ignored. */
  readonly fields?: readonly string[]
  /** Patterns to replace in texts: by `[redacted]`, or by the given replacement. */
  readonly patterns?: readonly (RegExp | readonly [pattern: RegExp, replacement: string])[]
}

/** Removes secrets from data that is logged or stored: whole values by field name, parts of texts by pattern. */
export interface Redaction {
  text(text: string): string
  /** Returns a redacted copy. Values other than texts, lists and plain objects are kept. */
  value(value: unknown): unknown
}

type Rule = readonly [pattern: RegExp, replacement: string]

const redacted = '[redacted]'

/** Applied in this order, before the patterns of `maskSecrets`. Each takes linear time. */
const knownForms: readonly Rule[] = [
  [/\b(authorization|proxy-authorization|cookie|set-cookie|x-api-key|api-key)(["']?\s*[:=]\s*)[^\r\n]+/gi, `$1$2${redacted}`],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${redacted}`],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, redacted],
  [/\b(sk|pk|rk|ghp|gho|ghs|xoxa|xoxb|xoxp|AIza|AKIA|bwl)[-_]?[A-Za-z0-9_-]{12,}/g, redacted],
  [/\b((?:api[-_]?key|access[-_]?token|token|secret|password|ticket)["']?\s*[:=]\s*["']?)[^\s"',;&]+/gi, `$1${redacted}`],
]

/** Endings of secret field names, without separators. */
const knownFields = /(authorization|cookie|apikey|token|secret|password|ticket)$/

/** Creates a redaction. Throws `LlmError` for an invalid config. The method `text` throws for a value that is not a text. */
export function createRedaction(config: RedactConfig = {}): Redaction {
  checkConfig(config)
  const { fields = [], patterns = [] } = config
  const names = new Set(fields.map(plainName))
  const rules = [...knownForms, ...patterns.map(ruleOf)]
  const isSecret = (name: string): boolean => knownFields.test(plainName(name)) || names.has(plainName(name))
  const text = (given: string): string =>
    maskSecrets(rules.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), given))
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (!isPlain(given)) return given
    const defined = Object.entries(given).filter(([, field]) => field !== undefined)
    return Object.fromEntries(defined.map(([name, field]) => [name, isSecret(name) ? redacted : value(field)]))
  }
  return {
    text(given) {
      checkInput.checkRequired('text', given, 'a text', isText)
      return text(given)
    },
    value,
  }
}

function checkConfig(config: RedactConfig): void {
  const { fields, patterns } = fieldsOf('createRedaction.config', config, ['fields', 'patterns'])
  checkItems('fields', fields, check.checkName)
  checkItems('patterns', patterns, (path, pattern) => {
    if (!Array.isArray(pattern))
      return check.checkRequired(path, pattern, 'a RegExp or a list of a RegExp and its replacement', isExpression)
    const [expression, replacement, ...more] = pattern as readonly unknown[]
    check.checkRequired(`${path}[0]`, expression, 'a RegExp', isExpression)
    check.checkRequired(`${path}[1]`, replacement, 'a text', isText)
    if (more.length > 0) refuseSetting(path, 'a list of a RegExp and its replacement', pattern)
  })
}

function isExpression(given: unknown): boolean {
  return given instanceof RegExp
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

function ruleOf(given: RegExp | Rule): Rule {
  const [pattern, replacement] = given instanceof RegExp ? ([given, redacted] as const) : given
  return [pattern.global ? pattern : new RegExp(pattern, `${pattern.flags}g`), replacement]
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
