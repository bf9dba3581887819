import { checkFunction, checkKeys, checkOneOf, checkText, refuseConfig } from '../agent/check-options.ts'
import type { Guardrail } from './guardrail.ts'

const handlerNames = ['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall'] as const
const optionKeys = ['name', 'description', 'onError', ...handlerNames] satisfies (keyof Guardrail)[]

const defined = new WeakSet<Guardrail>()

/** Throws `invalid-config` that names what is wrong. A guardrail that is defined already comes back as it is. */
export function defineGuardrail(options: Guardrail): Guardrail {
  if (defined.has(options)) return options
  if (typeof options !== 'object' || options === null) return refuseConfig('a guardrail must be an object')
  if (Object.getPrototypeOf(options) === Object.prototype) checkKeys('a guardrail', options, optionKeys)
  const { name, description, onError } = options
  if (typeof name !== 'string' || name.trim() === '') return refuseConfig('a guardrail needs a name')
  checkText(`description of the guardrail ${name}`, description)
  checkOneOf(`onError of the guardrail ${name}`, onError, ['block', 'allow'])
  const guardrail = Object.freeze({
    name,
    ...(description !== undefined && { description }),
    ...(onError !== undefined && { onError }),
    ...handlersOf(options),
  })
  defined.add(guardrail)
  return guardrail
}

/** Bound to the object that they came in, so that they may be methods of a class. */
function handlersOf(options: Guardrail): Pick<Guardrail, (typeof handlerNames)[number]> {
  const handlers: Readonly<Record<string, unknown>> = options as unknown as Readonly<Record<string, unknown>>
  const bound = handlerNames.flatMap((key) => {
    const handler = handlers[key]
    checkFunction(`${key} of the guardrail ${options.name}`, handler)
    return typeof handler === 'function' ? [[key, handler.bind(options) as unknown] as const] : []
  })
  return Object.fromEntries(bound)
}
