import { fieldChecks } from '@bowline/llm/arguments'
import { withSchema, withSchemas } from './check-schemas.ts'
import { BridgeError } from './errors.ts'

/** The form of the ids of agents, sessions, requests and workers. */
export const idForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

export const idWords = 'an id: a letter or digit, then up to 127 of those and . _ : -'

/** Checks of definitions and options: a mistake is `CONFIG`. */
export const configChecks = withSchemas(fieldChecks((message) => new BridgeError('CONFIG', message)))

/** Checks of the arguments of calls: a mistake is `PROTOCOL`, with the issue as a call over MCP has it. */
export const callChecks = fieldChecks(
  (message) => new BridgeError('PROTOCOL', `Invalid input: ${message}`, { details: { issues: [issueOf(message)] } }),
)

/** A sentence of the checks begins with the path. */
function issueOf(sentence: string): { readonly path: string; readonly message: string } {
  const [path = ''] = sentence.split(' ', 1)
  return { path, message: sentence.slice(path.length + 1) }
}

/** An id of a definition. It must be given. */
export const checkId = withSchema({ type: 'string', pattern: idForm.source }, (path, value) => {
  configChecks.checkRequired(path, value, idWords, (given) => typeof given === 'string' && idForm.test(given))
})

/** An instance of a class may have more than the fields that are known here; an object literal may not. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
