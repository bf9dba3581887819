import { needed } from '@bowline/llm/arguments'
import { messageOf } from '../base/agent-error.ts'
import {
  checkBoolean,
  checkFunction,
  checkKeys,
  checkList,
  checkNotBlank,
  checkObject,
  checkOneOf,
  checkWhole,
  refuseConfig,
} from '../base/checks.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { AgentTools, Tool } from '../contract/agent.ts'
import type { Extension, HookName, Hooks } from '../contract/extension.ts'
import { hookNames } from '../plugins/extensions/extensions.ts'
import { makeGuardrail } from '../plugins/guardrails/define-guardrail.ts'
import { checkPromptSections } from '../plugins/prompt/sections.ts'
import { toolSetOf } from '../tools/define-tool.ts'
import type { ToolSet } from '../tools/define-tool.ts'
import type { ProviderTool } from '../tools/tool.ts'

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

const defined = new WeakSet<Extension>()

/**
 * Checks an extension and returns it. An extension that was checked before is returned as it is. Throws `AgentError`
 * `invalid-config` that names the wrong field.
 */
export function defineExtension(options: Extension): Extension {
  return makeExtension('defineExtension.options', options)
}

function makeExtension(path: string, options: Extension): Extension {
  if (defined.has(options)) return options
  checkKeys(path, options, optionKeys)
  const { name, tools, guardrails, promptSections } = options
  checkNotBlank(`${path}.name`, name)
  checkWhole(`the extension ${name}: timeoutMs`, options.timeoutMs, 1)
  checkOneOf(`the extension ${name}: onError`, options.onError, ['ignore', 'fail', 'reject'])
  checkBoolean(`the extension ${name}: deltas`, options.deltas)
  if (promptSections !== undefined) checkPromptSections(`the extension ${name}: promptSections`, promptSections)
  checkList(`the extension ${name}: guardrails`, guardrails)
  if (tools !== undefined) toolsOfExtension(name, tools)
  const extension = Object.freeze({
    ...options,
    ...(tools && { tools: copyOf(tools) }),
    ...(guardrails && {
      guardrails: Object.freeze(
        guardrails.map((guardrail, index) => makeGuardrail(`the extension ${name}: guardrails[${index}]`, guardrail)),
      ),
    }),
    hooks: hooksOf(name, options.hooks),
  })
  defined.add(extension)
  return extension
}

function copyOf(tools: AgentTools): AgentTools {
  return Object.freeze(Array.isArray(tools) ? Array.from<Tool>(tools) : { ...tools })
}

/** Throws `invalid-config` if two extensions have the same name: their records and errors could not be told apart. */
export function defineExtensions(given: readonly Extension[]): readonly Extension[] {
  const extensions = given.map((extension, index) => makeExtension(`extensions[${index}]`, extension))
  const names = extensions.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? Object.freeze(extensions) : refuseConfig(`extensions has two extensions named "${twice}"`)
}

/** Binds the hooks to the object that they came in, so that hooks may be methods of a class which also has fields. */
function hooksOf(name: string, given: unknown): Hooks {
  checkObject(`the extension ${name}: hooks`, needed(given))
  if (Object.getPrototypeOf(given) === Object.prototype) checkKeys(`the extension ${name}: hooks`, given, hookNames)
  const handlers = given as Readonly<Record<HookName, unknown>>
  const bound = hookNames.flatMap((hook) => {
    const handler = handlers[hook]
    checkFunction(`the extension ${name}: hooks.${hook}`, handler)
    return typeof handler === 'function' ? [[hook, handler.bind(given) as unknown] as const] : []
  })
  return Object.freeze(Object.fromEntries(bound))
}

/** Throws `invalid-config` that names the extension if its tools are wrong. */
function toolsOfExtension(extension: string, given: AgentTools): ToolSet {
  try {
    return toolSetOf(given)
  } catch (error) {
    return refuseConfig(`the extension ${extension}: ${messageOf(error)}`)
  }
}

/**
 * Returns the tools that extensions add. If a name is in `taken` or occurs twice, the first tool wins; each loser becomes a
 * diagnostic.
 */
export function extensionTools(
  extensions: readonly Extension[],
  taken: Iterable<string>,
): ToolSet & { readonly diagnostics: readonly Diagnostic[] } {
  const names = new Set(taken)
  const tools = new Map<string, Tool>()
  const providerTools = new Map<string, ProviderTool>()
  const diagnostics: Diagnostic[] = []
  for (const extension of extensions) {
    const given = toolsOfExtension(extension.name, extension.tools ?? [])
    const lost = [...given.tools.keys(), ...given.providerTools.keys()].filter((name) => names.has(name))
    const message = `the tool of the extension ${extension.name} is not used: another tool has its name`
    diagnostics.push(...lost.map((name) => ({ kind: 'tool' as const, name, message })))
    for (const [name, tool] of given.tools) if (!names.has(name)) tools.set(name, tool)
    for (const [name, tool] of given.providerTools) if (!names.has(name)) providerTools.set(name, tool)
    for (const name of [...given.tools.keys(), ...given.providerTools.keys()]) names.add(name)
  }
  return { tools, providerTools, diagnostics }
}
