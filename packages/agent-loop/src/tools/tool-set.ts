import { describeValue, isFields } from '@bowline/llm/arguments'
import { refuseConfig } from '../base/check-options.ts'
import { isRecord } from '../base/json.ts'
import type { Tool } from '../contract/agent.ts'
import type { AiSdkTool } from '../contract/tool.ts'
import { checkToolName } from './build-tool.ts'
import type { ProviderTool } from './declaration.ts'
import { fromAiSdk } from './from-ai-sdk.ts'
import { isTool } from './tool.ts'

/** Tools as an agent is given them: of an array each has its own name, in a record the key is the name. */
export type GivenTools = readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>

/** The tools of an agent, in the order in which they were given. No name stands twice. */
export interface ToolSet {
  /** Those whose calls this package settles. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Tools that their provider runs. */
  readonly providerTools: ReadonlyMap<string, ProviderTool>
}

/** Throws `invalid-config`. */
export function toolSetOf(given: GivenTools): ToolSet {
  const tools = new Map<string, Tool>()
  const providerTools = new Map<string, ProviderTool>()
  for (const tool of listOf(given)) {
    if (tools.has(tool.name) || providerTools.has(tool.name)) refuseConfig(`tools has two tools named "${tool.name}"`)
    if (isTool(tool)) tools.set(tool.name, tool)
    else providerTools.set(tool.name, tool)
  }
  return { tools, providerTools }
}

function listOf(given: GivenTools): readonly (Tool | ProviderTool)[] {
  if (Array.isArray(given)) return (given as readonly unknown[]).map(ownTool)
  if (isFields(given)) return Object.entries(given).map(([name, tool]) => namedTool(name, tool))
  return refuseConfig(`tools must be a list, or an object of tools by name; received ${describeValue(given)}`)
}

function ownTool(tool: unknown, index: number): Tool {
  if (isTool(tool)) return tool
  return refuseConfig(`tools[${index}] is not made by defineTool; give tools of the AI SDK as a record, by name`)
}

function namedTool(name: string, tool: unknown): Tool | ProviderTool {
  if (!isRecord(tool)) return refuseConfig(`tools.${name} is no tool`)
  if (!isTool(tool)) return fromAiSdk(checkToolName(`the name of tools["${name}"]`, name), tool as unknown as AiSdkTool)
  return tool.name === name ? tool : refuseConfig(`tools.${name} is named "${tool.name}"`)
}
