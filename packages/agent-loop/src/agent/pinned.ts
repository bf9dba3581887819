import type { FunctionTool } from '@bowline/llm'
import type { Tool } from '../tools/tool.ts'
import { refuseConfig } from './check-options.ts'
import type { AgentFingerprint } from './options.ts'

/**
 * What the model is told of the tools under a pinned definition, whose code is today's. Throws `invalid-config` for a tool
 * that the agent lacks.
 */
export function pinnedDeclarations(pinned: AgentFingerprint, tools: ReadonlyMap<string, Tool>): readonly FunctionTool[] {
  return pinned.tools.map(({ name, description, inputSchema }) => {
    const tool = tools.get(name) ?? refuseConfig(`pinned has the tool "${name}", which the agent lacks`)
    const { providerOptions } = tool
    return { name, description, inputSchema, ...(providerOptions && { providerOptions }) }
  })
}
