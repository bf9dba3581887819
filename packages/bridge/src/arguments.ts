import { argumentChecks } from '@bowline/llm/arguments'
import { BridgeError } from './errors.ts'

/** Throws if the value is not what it must be. `undefined` means absent, unless the value is required. */
export type ArgumentCheck = (path: string, value: unknown) => void

/** The check of each field. A field without one does not compile. */
export type FieldChecks<Fields> = { readonly [Name in keyof Fields]-?: ArgumentCheck }

/** What the ids of agents, sessions, requests and workers look like. */
export const idForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

const idWords = 'an id: a letter or digit, then up to 127 of those and . _ : -'

/** Checks of definitions and options: a mistake is `CONFIG`. */
export const configChecks = checksWith((message) => new BridgeError('CONFIG', message))

/** Checks of the arguments of calls: a mistake is `PROTOCOL`, with the issue as a call over MCP has it. */
export const callChecks = checksWith(
  (message) => new BridgeError('PROTOCOL', `Invalid input: ${message}`, { details: { issues: [issueOf(message)] } }),
)

/** A sentence of the checks begins with the path. */
function issueOf(sentence: string): { readonly path: string; readonly message: string } {
  const [path = ''] = sentence.split(' ', 1)
  return { path, message: sentence.slice(path.length + 1) }
}

function checksWith(refuse: (message: string) => Error) {
  const checks = argumentChecks(refuse)
  const { checkKeys, checkList, checkMethods, checkName, checkOneOf, checkRequired, checkWhole } = checks
  const unlessAbsent = (check: ArgumentCheck): ArgumentCheck => (path, value) => {
    if (value !== undefined) check(path, value)
  }
  const record = <Fields>(fields: FieldChecks<Fields>): ArgumentCheck => {
    const known = Object.keys(fields)
    return (path, value) => {
      checkKeys(path, value, known)
      for (const [name, check] of Object.entries<ArgumentCheck>(fields)) check(`${path}.${name}`, (value as Readonly<Record<string, unknown>>)[name])
    }
  }
  const listOf = (check: ArgumentCheck): ArgumentCheck => (path, value) => {
    checkList(path, value)
    if (Array.isArray(value)) for (const [place, item] of value.entries()) check(`${path}[${place}]`, item)
  }
  const required = (check: ArgumentCheck, wanted: string): ArgumentCheck => (path, value) => {
    if (value === undefined) checkRequired(path, value, wanted, () => false)
    check(path, value)
  }
  return {
    ...checks,
    refuse,
    required,
    listOf,
    whole: (least: number): ArgumentCheck => (path, value) => checkWhole(path, value, least),
    oneOf: (...allowed: readonly string[]): ArgumentCheck => (path, value) => checkOneOf(path, value, allowed),
    methods: (...names: readonly string[]): ArgumentCheck => (path, value) => checkMethods(path, value, names),
    requiredMethods: (...names: readonly string[]): ArgumentCheck => required((path, value) => checkMethods(path, value, names), `an object with ${names.join(' and ')}`),
    requiredList: (check: ArgumentCheck): ArgumentCheck => required(listOf(check), 'a list'),
    /** An object with these fields and no others. */
    record,
    optionalRecord: <Fields>(fields: FieldChecks<Fields>): ArgumentCheck => unlessAbsent(record(fields)),
    optionalName: unlessAbsent(checkName),
    id: ((path, value) => checkRequired(path, value, idWords, (given) => typeof given === 'string' && idForm.test(given))) satisfies ArgumentCheck,
  }
}

/** An instance of a class may have more than the fields that are known here; an object literal may not. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
