import { checkBoolean, checkFunction, checkKeys, checkOneOf, checkWhole, refuseConfig } from '../agent/check-options.ts'
import { defineGuardrail } from '../guardrails/define-guardrail.ts'
import { toolsOfExtension } from './extension-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { GivenTools } from '../tools/tool-set.ts'
import type { Extension, HookName, Hooks } from './extension.ts'

const optionKeys = [
  'name',
  'tools',
  'guardrails',
  'promptSections',
  'timeoutMs',
  'onError',
  'deltas',
  'hooks',
] satisfies (keyof Extension)[]
const sectionKeys = ['append', 'memory', 'user', 'docs', 'skills'] satisfies (keyof NonNullable<Extension['promptSections']>)[]

const hookNames = Object.keys({
  onInput: true,
  beforeAgentStart: true,
  onTurnStart: true,
  transformContext: true,
  onStepStart: true,
  onStepEnd: true,
  beforeModelCall: true,
  afterModelCall: true,
  onToolCall: true,
  onToolResult: true,
  onToolSettled: true,
  beforeCompaction: true,
  afterCompaction: true,
  onRetryStart: true,
  onRetryEnd: true,
  onAgentEnd: true,
  onSavePoint: true,
  onSettled: true,
  onEvent: true,
} satisfies Record<HookName, true>) as readonly HookName[]

const defined = new WeakSet<Extension>()

/** Throws `invalid-config` that names what is wrong. An extension that is defined already comes back as it is. */
export function defineExtension(options: Extension): Extension {
  if (defined.has(options)) return options
  if (typeof options !== 'object' || options === null) return refuseConfig('an extension must be an object')
  checkKeys('an extension', options, optionKeys)
  const { name, tools, guardrails, promptSections } = options
  if (typeof name !== 'string' || name.trim() === '') return refuseConfig('an extension needs a name')
  checkWhole(`timeoutMs of the extension ${name}`, options.timeoutMs, 1)
  checkOneOf(`onError of the extension ${name}`, options.onError, ['ignore', 'fail', 'reject'])
  checkBoolean(`deltas of the extension ${name}`, options.deltas)
  if (promptSections) checkKeys(`promptSections of the extension ${name}`, promptSections, sectionKeys)
  if (guardrails !== undefined && !Array.isArray(guardrails)) refuseConfig(`guardrails of the extension ${name} must be a list`)
  if (tools) toolsOfExtension(name, tools)
  const extension = Object.freeze({
    ...options,
    ...(tools && { tools: copyOf(tools) }),
    ...(guardrails && { guardrails: Object.freeze(guardrails.map(defineGuardrail)) }),
    hooks: hooksOf(name, options.hooks),
  })
  defined.add(extension)
  return extension
}

function copyOf(tools: GivenTools): GivenTools {
  return Object.freeze(Array.isArray(tools) ? Array.from<Tool>(tools) : { ...tools })
}

/** Throws `invalid-config` for two of one name: their records and their errors could not be told apart. */
export function defineExtensions(given: readonly Extension[]): readonly Extension[] {
  const extensions = given.map(defineExtension)
  const names = extensions.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? Object.freeze(extensions) : refuseConfig(`extensions has two extensions named "${twice}"`)
}

/** Bound to the object that they came in, so that hooks may be methods of a class, beside fields of its own. */
function hooksOf(name: string, given: unknown): Hooks {
  if (typeof given !== 'object' || given === null) return refuseConfig(`hooks of the extension ${name} must be an object`)
  const plain = Object.getPrototypeOf(given) === Object.prototype
  const unknown = Object.keys(given).find((key) => plain && !hookNames.some((hook) => hook === key))
  if (unknown !== undefined) return refuseConfig(`hooks of the extension ${name} has no hook "${unknown}"`)
  const handlers = given as Readonly<Record<HookName, unknown>>
  const bound = hookNames.flatMap((hook) => {
    const handler = handlers[hook]
    checkFunction(`${hook} of the extension ${name}`, handler)
    return typeof handler === 'function' ? [[hook, handler.bind(given) as unknown] as const] : []
  })
  return Object.freeze(Object.fromEntries(bound))
}
