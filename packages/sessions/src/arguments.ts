import { argumentChecks } from '@bowline/llm/arguments'
import { SessionError, type SessionErrorCode } from './errors.ts'

/** The longest time, and the last moment: beyond it a sum of the two is no whole number that every store keeps. */
export const longestMs = 4_000_000_000_000_000

/** Throws if the value is not what it must be. `undefined` means absent. */
export type OptionCheck = (path: string, value: unknown) => void

/** The check of each option. An option without one does not compile. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: OptionCheck }

/** Options that something is made with: a runtime, a store, an orchestration. */
export const configChecks = checksFor('invalid-config')
/** Arguments of everything else. */
export const inputChecks = checksFor('invalid-input')

export function checksFor(code: SessionErrorCode, prefix = '') {
  const checks = argumentChecks((message) => new SessionError(code, `${prefix}${message}.`))
  const checkEach = (path: string, given: object, table: Readonly<Record<string, OptionCheck>>): void => {
    for (const [name, value] of Object.entries(given)) if (value !== undefined) table[name]?.(`${path}.${name}`, value)
  }
  return {
    ...checks,
    whole: (least: number, most?: number): OptionCheck => (path, value) => checks.checkWhole(path, value, least, most),
    oneOf: (...allowed: readonly string[]): OptionCheck => (path, value) => checks.checkOneOf(path, value, allowed),
    /** A text with at least one character, if it is given. */
    name: ((path, value) => {
      if (value !== undefined) checks.checkName(path, value)
    }) satisfies OptionCheck,
    methods: (...names: readonly string[]): OptionCheck => (path, value) => checks.checkMethods(path, value, names),
    /** A list of which each item passes the check. */
    listOf: (check: OptionCheck): OptionCheck => (path, value) => {
      checks.checkList(path, value)
      if (Array.isArray(value)) for (const [place, item] of value.entries()) check(`${path}[${place}]`, item)
    },
    /** Refuses unknown names, then checks each value. The options as a whole may be absent if none of them is needed. */
    options: <Options>(table: OptionTable<Options>, needed: readonly (keyof Options & string)[] = []): OptionCheck => {
      const known = Object.keys(table)
      return (path, given) => {
        if (given === undefined && needed.length === 0) return
        checks.checkKeys(path, given, known)
        checkEach(path, given as object, table)
        for (const name of needed) checks.checkRequired(`${path}.${name}`, Reflect.get(given as object, name), 'given', (value) => value !== undefined)
      }
    },
  }
}
