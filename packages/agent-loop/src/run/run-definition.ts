import { refuseConfig } from '../base/checks.ts'
import type { AgentFingerprint, RunOptions, Tool } from '../contract/agent.ts'
import type { Journal } from '../contract/journal.ts'
import { withHostedTools } from '../plugins/subagents/delegate-tools.ts'
import { buildTool, declarationOf } from '../tools/tool.ts'
import type { AgentDefinition } from './definition.ts'

/** An agent with what the options of one run, and its journal, add to it. Throws `invalid-config`. */
export function runDefinition(agent: AgentDefinition, { remoteTools, pinned }: RunOptions, { children }: Journal): AgentDefinition {
  const own = children ? withHostedTools(agent, children) : agent
  const extended = remoteTools && remoteTools.length > 0 ? withRemoteTools(own, remoteTools) : own
  return pinned ? withPinnedTools(extended, pinned, remoteTools) : extended
}

function withRemoteTools(agent: AgentDefinition, remoteTools: NonNullable<RunOptions['remoteTools']>): AgentDefinition {
  const tools = new Map<string, Tool>(agent.tools)
  for (const { name, description, inputSchema } of remoteTools) {
    if (tools.has(name) || agent.toolNames.includes(name)) refuseConfig(`the remote tool "${name}" hides another tool`)
    tools.set(name, buildTool({ name, description, inputSchema }))
  }
  const added = [...tools.values()].slice(agent.tools.size).map(declarationOf)
  return derived(agent, tools, [...agent.declarations, ...added])
}

/** The requests carry the pinned schemas; the code of today's tools runs. */
function withPinnedTools(agent: AgentDefinition, { tools: pinned }: AgentFingerprint, brought: RunOptions['remoteTools'] = []): AgentDefinition {
  const missing = pinned.find(({ name }) => !agent.tools.has(name))
  if (missing) refuseConfig(`the pinned tool "${missing.name}" is not there any more`)
  const names = new Set(pinned.map(({ name }) => name))
  const declarations = [
    ...pinned.map((tool) => pinnedDeclaration(agent, tool)),
    // What a provider runs, and what the run itself brings, is not part of the pin.
    ...agent.declarations.filter((one) => !names.has(one.name) && (!('inputSchema' in one) || brought.some(({ name }) => name === one.name))),
  ]
  return derived(agent, agent.tools, declarations)
}

/** What the provider is told beside description and schema is not part of the pin, nor is what it knows by itself. */
function pinnedDeclaration({ declarations }: AgentDefinition, { name, description, inputSchema }: AgentFingerprint['tools'][number]) {
  const today = declarations.find((declaration) => declaration.name === name)
  if (today && !('inputSchema' in today)) return today
  return { ...today, name, description, inputSchema }
}

function derived(agent: AgentDefinition, tools: AgentDefinition['tools'], declarations: AgentDefinition['declarations']): AgentDefinition {
  return { ...agent, tools, declarations, toolNames: declarations.map(({ name }) => name) }
}
