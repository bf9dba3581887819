import { createRedaction, LlmError } from '@bowline/llm'
import type { JSONValue, RedactConfig } from '@bowline/llm'
import type { ArgumentCheck } from '@bowline/llm/arguments'
import { BridgeError } from './errors.ts'
import { causeRedaction } from './redact-cause.ts'

/** Removes secrets from everything that a bridge logs, stores or returns. */
export interface BridgeRedaction {
  /** Redacts text that leaves the process; also removes stacks and paths of this machine. */
  text(text: string): string
  value(value: JSONValue): JSONValue
  /** Redacts the message of an error for the host program. */
  message(text: string): string
  /** Redacts the fields of a log line. */
  fields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** Redacts other output for the host program: notices, agents, health. */
  told<T>(value: T): T
}

const leaving: NonNullable<RedactConfig['patterns']> = [
  // Stack frames, one per line.
  [/\n\s+at .*/g, ''],
  [/file:\/\/\/[^\s"'`)]+/g, '[path]'],
  // An absolute path, but not the path of a URL.
  [/(?<![\w:/.\\-])(?:[A-Za-z]:[\\/]|\/)(?:[^\s"'`:()\\/]+[\\/])+[^\s"'`:()\\/]*(?::\d+)*/g, '[path]'],
]

export function bridgeRedaction(config?: RedactConfig): BridgeRedaction {
  const { fields = [], patterns = [] } = config ?? {}
  const inside = createRedaction(config)
  const outside = createRedaction({ fields: ['stack', ...fields], patterns: [...leaving, ...patterns] })
  const cause = causeRedaction(inside)
  // Without a config, only thrown values can contain secrets: texts of workers are already redacted, and the rest is ids and fixed
  // words.
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

/** Returns the redaction of a bridge; the standard one if the bridge is a foreign implementation. */
export function redactionOf(bridge: object): BridgeRedaction {
  return ofBridges.get(bridge) ?? standardRedaction
}

/** JSON schema of the option `redact`, without `patterns`, which need code. */
export const redactSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { fields: { type: 'array', items: { type: 'string', minLength: 1 } } },
}

/** Checks the option `redact`. */
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
