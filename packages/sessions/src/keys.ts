import { checksFor, configChecks, inputChecks } from './arguments.ts'
import { SessionError } from './errors.ts'

const keyChecks = checksFor('invalid-key')

const keyCharacters = /^[A-Za-z0-9._:\-@/+=]+$/
const namespaceForm = /^[a-z0-9][a-z0-9_-]{0,62}$/
const agentNameForm = /^[a-z][a-z0-9_-]{0,51}$/
const suffixForm = /^[A-Za-z0-9_-]{1,80}$/
const maxKeyBytes = 256
const maxChildKeyBytes = 700
const maxInputIdBytes = 200
/** Longer ids do not fit into an index of every store. */
const maxEntryIdCharacters = 800

/** Throws `invalid-key` and names the invalid part. All allowed characters are one byte long. */
export function checkKey(key: string, path = 'key'): void {
  keyChecks.checkName(path, key)
  if (key.length > maxKeyBytes) {
    throw new SessionError('invalid-key', `${path} must be a session key of at most ${maxKeyBytes} bytes; it has ${key.length}.`)
  }
  if (!keyCharacters.test(key)) {
    const wrong = [...key].find((character) => !keyCharacters.test(character))
    throw new SessionError(
      'invalid-key',
      `${path} must be a session key of letters, digits and . _ : - @ / + =; it contains ${JSON.stringify(wrong)}.`,
    )
  }
  const part = key.split(':').find((each) => each === '' || each === '.' || each === '..')
  if (part !== undefined) {
    throw new SessionError(
      'invalid-key',
      `${path} must be a session key without empty parts, "." and ".." between its colons; it has the part ${JSON.stringify(part)}.`,
    )
  }
}

/** Returns the tenant of a key `tenant:<id>:…`, else undefined. */
export function tenantOf(key: string): string | undefined {
  return /^tenant:([^:]+):/.exec(key)?.[1]
}

/** Accepts child keys too: the key of the parent, an agent and a suffix, separated by `~`. No key from outside has `~`. */
export function checkAnyKey(key: string, path = 'key'): void {
  keyChecks.checkName(path, key)
  const [root = '', ...below] = key.split('~')
  checkKey(root, path)
  if (below.length === 0) return
  if (key.length > maxChildKeyBytes) {
    throw new SessionError(
      'invalid-key',
      `${path} must be the key of a child session of at most ${maxChildKeyBytes} bytes; it has ${key.length}.`,
    )
  }
  const isPairs = below.length % 2 === 0 && below.every((part, place) => (place % 2 === 0 ? agentNameForm : suffixForm).test(part))
  if (!isPairs)
    throw new SessionError('invalid-key', `${path} must be the key of a child session: a session key, then ~agent~suffix for each level.`)
}

/** Throws `invalid-config` for a namespace that not every store can keep. */
export function checkNamespace(namespace: string): void {
  configChecks.checkName('namespace', namespace)
  if (!namespaceForm.test(namespace)) {
    throw new SessionError('invalid-config', `The namespace ${JSON.stringify(namespace)} must match ${namespaceForm.source}.`)
  }
}

export function checkAgentName(name: string | undefined): asserts name is string {
  if (name === undefined || !agentNameForm.test(name)) {
    throw new SessionError('invalid-config', `The agent name ${JSON.stringify(name)} must match ${agentNameForm.source}.`)
  }
}

/** Checks an optional id. */
export function checkInputId(path: string, id: unknown): void {
  inputChecks.optionalName(path, id)
  if (id === undefined) return
  const bytes = new TextEncoder().encode(id as string).length
  if (bytes > maxInputIdBytes) {
    throw new SessionError('invalid-input', `${path} must have 1 to ${maxInputIdBytes} bytes, this one has ${bytes}.`)
  }
}

export function isEntryId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= maxEntryIdCharacters
}

export function checkEntryId(path: string, id: unknown): void {
  inputChecks.checkRequired(path, id, `a text of 1 to ${maxEntryIdCharacters} characters`, isEntryId)
}
