import { checkKeys, checkText, refuseConfig } from './check-options.ts'
import { agentOf } from './define-agent.ts'
import type { AgentDefinition } from './definition.ts'
import type { Agent, SpawnChildOptions } from './options.ts'

/**
 * An agent for side work. It shares model, params, prompt cache and all tools, so that prompt and tools of its requests
 * are the parent's to the byte; what is not on its list gets an error outcome. Throws `invalid-config`.
 */
export function spawnChildOf(parent: AgentDefinition, options: SpawnChildOptions = {}): Agent {
  checkKeys('spawnChild', options, ['tools', 'channel', 'sessionKey'])
  const { tools = [], channel, sessionKey } = options
  checkText('channel', channel)
  checkText('sessionKey', sessionKey)
  const unknown = tools.find((name) => !parent.tools.has(name))
  if (unknown !== undefined) refuseConfig(`tools: the parent has no tool "${unknown}"`)
  return agentOf({
    ...parent,
    allowed: new Set(tools),
    extensions: [],
    compaction: { kind: 'off' },
    runDefaults: { ...(channel !== undefined && { channel }), ...(sessionKey !== undefined && { sessionKey }) },
  })
}
