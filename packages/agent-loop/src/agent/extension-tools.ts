import { messageOf } from '../base/agent-error.ts'
import { refuseConfig } from '../base/checks.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { Tool } from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import { toolSetOf } from '../tools/define-tool.ts'
import type { GivenTools, ToolSet } from '../tools/define-tool.ts'
import type { ProviderTool } from '../tools/tool.ts'

/** Throws `invalid-config` that names the extension. */
export function toolsOfExtension(extension: string, given: GivenTools): ToolSet {
  try {
    return toolSetOf(given)
  } catch (error) {
    return refuseConfig(`the extension ${extension}: ${messageOf(error)}`)
  }
}

/** The tools that extensions add to the names that are taken. Of one name the first is used; losers are diagnostics. */
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
    const message = `the tool of the extension ${extension.name} is not used: its name is taken`
    diagnostics.push(...lost.map((name) => ({ kind: 'tool' as const, name, message })))
    for (const [name, tool] of given.tools) if (!names.has(name)) tools.set(name, tool)
    for (const [name, tool] of given.providerTools) if (!names.has(name)) providerTools.set(name, tool)
    for (const name of [...given.tools.keys(), ...given.providerTools.keys()]) names.add(name)
  }
  return { tools, providerTools, diagnostics }
}
