import { createRedaction, LlmError } from '@bowline/llm'
import type { JSONValue, RedactConfig } from '@bowline/llm'
import type { ArgumentCheck } from '@bowline/llm/arguments'
import { BridgeError } from './errors.ts'
import { causeRedaction } from './redact-cause.ts'

/** Takes secrets out of what a bridge logs, stores and hands on. */
export interface BridgeRedaction {
  /** For what leaves the process: also without stacks and paths of this machine. */
  text(text: string): string
  value(value: JSONValue): JSONValue
  /** The message of an error for the host. */
  message(text: string): string
  /** The fields of a log line. */
  fields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** Redacts output for the host other than errors: notices, agents, health. */
  told<T>(value: T): T
}

const leaving: NonNullable<RedactConfig['patterns']> = [
  // Stack frames, each on a line of its own.
  [/\n\s+at .*/g, ''],
  [/file:\/\/\/[^\s"'`)]+/g, '[path]'],
  // An absolute path, not the path of a web address.
  [/(?<![\w:/.\\-])(?:[A-Za-z]:[\\/]|\/)(?:[^\s"'`:()\\/]+[\\/])+[^\s"'`:()\\/]*(?::\d+)*/g, '[path]'],
]

export function bridgeRedaction(config?: RedactConfig): BridgeRedaction {
  const { fields = [], patterns = [] } = config ?? {}
  const inside = createRedaction(config)
  const outside = createRedaction({ fields: ['stack', ...fields], patterns: [...leaving, ...patterns] })
  const cause = causeRedaction(inside)
  // Without a config only what was thrown can hold a secret: texts of workers have been redacted, all else is ids and words.
  const everywhere = <T>(value: T): T => (config ? (cause(value) as T) : value)
  return {
    text: (text) => outside.text(text),
    value: (value) => outside.value(value) as JSONValue,
    message: (text) => inside.text(text),
    fields: (given) => (!config && 'cause' in given ? { ...given, cause: cause(given['cause']) } : everywhere(given)),
    told: everywhere,
  }
}

export const standardRedaction = bridgeRedaction()

const ofBridges = new WeakMap<object, BridgeRedaction>()

export function keepRedaction(bridge: object, redaction: BridgeRedaction): void {
  ofBridges.set(bridge, redaction)
}

/** A bridge that was not made here has the standard one. */
export function redactionOf(bridge: object): BridgeRedaction {
  return ofBridges.get(bridge) ?? standardRedaction
}

/** What JSON can say of the option `redact`: patterns need code. */
export const redactSchema = { type: 'object', additionalProperties: false, properties: { fields: { type: 'array', items: { type: 'string', minLength: 1 } } } }

/** The check of the option `redact`. */
export const checkRedact: ArgumentCheck = (path, value) => {
  if (value === undefined) return
  try {
    createRedaction(value as RedactConfig)
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    const named = error.message.replace('createRedaction.config', path)
    throw new BridgeError('CONFIG', named === error.message ? `${path}.${named}` : named)
  }
}
