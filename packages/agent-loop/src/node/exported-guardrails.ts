import { messageOf } from '../base/agent-error.ts'
import type { Guardrail } from '../contract/guardrail.ts'
import { defineGuardrail } from '../plugins/guardrails/define-guardrail.ts'

const handlers = ['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall']

/** In the order of the exports' names. Throws for a module that has none, or one that is not whole. */
export function exportedGuardrails(module: Readonly<Record<string, unknown>>): readonly Guardrail[] {
  const names = Object.keys(module).sort()
  const found = names.flatMap((name) => {
    const meant = itemsOf(module[name]).filter((item) => name === 'guardrail' || name === 'guardrails' || hasHandler(item))
    return meant.map((item) => defined(name, item))
  })
  if (found.length === 0) throw new Error('it exports no guardrail')
  return found
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [value]
}

/** Other things may be exported beside guardrails. */
function hasHandler(value: unknown): boolean {
  return typeof value === 'object' && value !== null && handlers.some((name) => name in value)
}

function defined(exportName: string, value: unknown): Guardrail {
  try {
    const guardrail = defineGuardrail(value as Guardrail)
    if (hasHandler(guardrail)) return guardrail
  } catch (error) {
    throw new Error(`its export ${exportName} is no guardrail: ${messageOf(error)}`, { cause: error })
  }
  throw new Error(`its export ${exportName} is no guardrail: it has none of ${handlers.join(', ')}`)
}
