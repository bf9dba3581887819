import { AgentError } from '../agent-error.ts'

/** Throws `invalid-config` that names what is wrong. */
export function refuseConfig(message: string): never {
  throw new AgentError('invalid-config', message)
}

export function checkKeys(what: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((key) => !known.includes(key))
  if (unknown !== undefined) refuseConfig(`${what} has no option "${unknown}"`)
}

export function checkWhole(name: string, value: number | null | undefined, least: number): void {
  if (value === undefined || value === null) return
  if (!Number.isSafeInteger(value) || value < least) refuseConfig(`${name} must be a whole number from ${least}`)
}

export function checkOneOf(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) refuseConfig(`${name} must be one of ${allowed.join(', ')}`)
}

export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuseConfig(`${name} must be a function`)
}
