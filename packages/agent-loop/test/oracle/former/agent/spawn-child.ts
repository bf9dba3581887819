import { mergeRuntimeParams } from '@bowline/llm'
import type { RuntimeParams } from '@bowline/llm'
import { checkKeys, checkList, checkName, checkText, refuseConfig } from '../base/check-options.ts'
import type { Agent, SpawnChildOptions } from '../contract/agent.ts'
import type { Turn } from '../kernel/turn.ts'
import { agentOf } from './define-agent.ts'
import type { AgentDefinition } from './definition.ts'

/**
 * An agent for side work. It shares model, params, prompt cache and all tools, so that prompt and tools of its requests
 * are the parent's to the byte; what is not on its list gets an error outcome. Throws `invalid-config`.
 */
export function spawnChildOf(parent: AgentDefinition, options: SpawnChildOptions = {}): Agent {
  checkKeys('spawnChild.options', options, ['tools', 'channel', 'sessionKey'])
  checkList('tools', options.tools)
  const { tools = [], channel, sessionKey } = options
  for (const [index, name] of tools.entries()) checkName(`tools[${index}]`, name)
  checkText('channel', channel)
  checkText('sessionKey', sessionKey)
  const unknown = tools.find((name) => !mayRun(parent, name))
  if (unknown !== undefined) refuseConfig(`tools: the parent has no tool "${unknown}" that it may run`)
  return agentOf({
    ...parent,
    allowed: new Set(tools),
    extensions: [],
    compaction: { kind: 'off' },
    runDefaults: { ...parent.runDefaults, ...(channel !== undefined && { channel }), ...(sessionKey !== undefined && { sessionKey }) },
  })
}

/** The same inside of a run: then the parent is the agent as that run has it, with the prompt and params of its requests. */
export function spawnChildIn({ run, agent, instructions }: Turn, options: SpawnChildOptions = {}): Agent {
  const { channel = run.channel, sessionKey = run.sessionKey } = options
  const samePrompt = channel === run.channel && sessionKey === run.sessionKey
  const [target] = run.models
  return spawnChildOf(
    {
      ...agent,
      model: target.kind === 'function' ? target.call : target.model,
      runtimeParams: paramsWithoutModel(mergeRuntimeParams(agent.runtimeParams, run.runtimeParams)),
      // Before the prompt of the run is built it is empty: then the child builds it.
      pinnedInstructions: (samePrompt ? instructions : '') || run.pinnedInstructions,
      runDefaults: {
        clock: run.clock,
        ...(channel !== undefined && { channel }),
        ...(sessionKey !== undefined && { sessionKey }),
        ...(run.context !== undefined && { context: run.context }),
      },
    },
    options,
  )
}

/** A child that may not do something must not be able to let others do it. */
function mayRun({ tools, allowed }: AgentDefinition, name: string): boolean {
  return tools.has(name) && (allowed?.has(name) ?? true)
}

/** The run has resolved it, or has a pinned one. */
function paramsWithoutModel({ model: _resolved, ...params }: RuntimeParams): RuntimeParams {
  return params
}
