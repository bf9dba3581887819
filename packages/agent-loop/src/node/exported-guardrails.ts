import type { Guardrail } from '../guardrails/guardrail.ts'

const hooks = ['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall'] as const

/** In the order of the exports' names. Throws for a module that has none, or one that is not whole. */
export function exportedGuardrails(module: Readonly<Record<string, unknown>>): readonly Guardrail[] {
  const names = Object.keys(module).sort()
  const found = names.flatMap((name) => {
    const meant = itemsOf(module[name]).filter((item) => isMeant(name, item))
    return meant.map((item) => checked(name, item))
  })
  if (found.length === 0) throw new Error('it exports no guardrail')
  return found
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [value]
}

/** Helpers may be exported beside them; what is called a guardrail or looks like one must be one. */
function isMeant(name: string, value: unknown): boolean {
  return name === 'guardrail' || name === 'guardrails' || (isObject(value) && hooks.some((hook) => hook in value))
}

function checked(exportName: string, value: unknown): Guardrail {
  const refuse = (reason: string): never => {
    throw new Error(`its export ${exportName} is no guardrail: ${reason}`)
  }
  if (!isObject(value)) return refuse('it must be an object')
  const { name, onError } = value
  if (typeof name !== 'string' || name === '') return refuse('it needs a name')
  if (onError !== undefined && onError !== 'block' && onError !== 'allow') return refuse('onError must be block or allow')
  const given = hooks.filter((hook) => value[hook] !== undefined)
  if (given.length === 0) return refuse(`it has none of ${hooks.join(', ')}`)
  const wrong = given.find((hook) => typeof value[hook] !== 'function')
  return wrong === undefined ? (value as unknown as Guardrail) : refuse(`${wrong} must be a function`)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
