import { checkFunction, checkKeys, checkNotBlank, checkOneOf, checkRequired, checkText } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'
import type { Guardrail } from '../../contract/guardrail.ts'

export const handlerNames = ['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall'] as const
const optionKeys = ['name', 'description', 'onError', ...handlerNames] satisfies (keyof Guardrail)[]

const defined = new WeakSet<Guardrail>()

/**
 * Checks a guardrail and returns it. A guardrail that was checked before is returned as it is. Throws `AgentError`
 * `invalid-config` that names the wrong field.
 */
export function defineGuardrail(options: Guardrail): Guardrail {
  return makeGuardrail('defineGuardrail.options', options)
}

/** As `defineGuardrail`, for a guardrail that was passed at `path`. */
export function makeGuardrail(path: string, options: Guardrail): Guardrail {
  if (defined.has(options)) return options
  checkRequired(path, options, 'a guardrail', isRecord)
  if (Object.getPrototypeOf(options) === Object.prototype) checkKeys(path, options, optionKeys)
  const { name, description, onError } = options
  checkNotBlank(`${path}.name`, name)
  checkText(`the guardrail ${name}: description`, description)
  checkOneOf(`the guardrail ${name}: onError`, onError, ['block', 'allow'])
  const guardrail = Object.freeze({
    name,
    ...(description !== undefined && { description }),
    ...(onError !== undefined && { onError }),
    ...handlersOf(options),
  })
  defined.add(guardrail)
  return guardrail
}

/** Binds the handlers to the object that they came in, so that they may be methods of a class. */
function handlersOf(options: Guardrail): Pick<Guardrail, (typeof handlerNames)[number]> {
  const handlers: Readonly<Record<string, unknown>> = options as unknown as Readonly<Record<string, unknown>>
  const bound = handlerNames.flatMap((key) => {
    const handler = handlers[key]
    checkFunction(`the guardrail ${options.name}: ${key}`, handler)
    return typeof handler === 'function' ? [[key, handler.bind(options) as unknown] as const] : []
  })
  return Object.fromEntries(bound)
}
