import { fieldChecks, versionCheck, versionMark } from '@bowline/llm/arguments'
import manifest from '../package.json' with { type: 'json' }
import { withSchema, withSchemas } from './check-schemas.ts'
import { BridgeError } from './errors.ts'

/** Pattern for ids of agents, sessions, requests and workers. */
export const idForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

export const idWords = 'an id: a letter or digit, then up to 127 of those and . _ : -'

/** Checks for definitions and options. A violation is `CONFIG`. */
export const configChecks = withSchemas(fieldChecks(refusedConfig))

export function refusedConfig(message: string): BridgeError {
  return new BridgeError('CONFIG', message)
}

/** Mark of the bridges of this package. */
export const bridgeMark = versionMark(manifest)

/** Refuses a bridge of another version of this package. */
export const checkBridgeVersion = versionCheck(manifest, refusedConfig)

/** Checks for arguments of calls. A violation is `PROTOCOL`, with the same `issues` as for a call over MCP. */
export const callChecks = fieldChecks(
  (message) => new BridgeError('PROTOCOL', `Invalid input: ${message}`, { details: { issues: [issueOf(message)] } }),
)

/** Splits a message of the checks, which starts with the path. */
function issueOf(sentence: string): { readonly path: string; readonly message: string } {
  const [path = ''] = sentence.split(' ', 1)
  return { path, message: sentence.slice(path.length + 1) }
}

/** Checks an id in a definition; it is required. */
export const checkId = withSchema({ type: 'string', pattern: idForm.source }, (path, value) => {
  configChecks.checkRequired(path, value, idWords, (given) => typeof given === 'string' && idForm.test(given))
})

/** Unknown fields are refused in object literals only: instances of a class may have more fields. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
