import { systemClock } from '@bowline/llm'
import { checkText } from '../base/check-options.ts'
import type { Agent, AgentFingerprint, CompactOptions, RunOptions, SpawnChildOptions } from '../contract/agent.ts'
import type { AgentInput } from '../contract/input.ts'
import type { AgentOptions } from '../contract/options.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { startRun } from '../run/agent-run.ts'
import { compactConversation } from './compact-conversation.ts'
import { definitionKey } from './definition.ts'
import type { AgentDefinition } from './definition.ts'
import { makeDefinition } from './make-definition.ts'
import { spawnChildOf } from './spawn-child.ts'

/** Throws `invalid-config` that names the option at fault. */
export function defineAgent(options: AgentOptions): Agent {
  return agentOf(makeDefinition(options))
}

/** The face of a definition. */
export function agentOf(definition: AgentDefinition): Agent {
  const { name, description } = definition
  return Object.freeze({
    [definitionKey]: definition,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    tools: Object.freeze([...definition.tools.values()]),
    get diagnostics() {
      return definition.diagnostics()
    },
    run: (input: AgentInput | undefined, options: RunOptions = {}) => startRun(definition, input, options),
    compact: (options: CompactOptions) => compactConversation(definition, options),
    spawnChild: (options?: SpawnChildOptions) => spawnChildOf(definition, options),
    reload: () => definition.reload(),
    invalidatePrompt(channel?: string) {
      checkText('channel', channel)
      definition.promptCache.invalidate(channel)
    },
    fingerprint: () => fingerprintOf(definition),
  } satisfies Agent & { readonly [definitionKey]: AgentDefinition })
}

async function fingerprintOf(definition: AgentDefinition): Promise<AgentFingerprint> {
  const { fingerprints, model, models, runtimeParams, toolNames, pinnedInstructions, runDefaults = {} } = definition
  const { name } = modelTarget(model, models, runtimeParams)
  const { channel, sessionKey, clock = systemClock } = runDefaults
  const fingerprint = await fingerprints.of(name, {
    ...{ tools: toolNames, now: clock.now() },
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { sessionKey }),
  })
  return pinnedInstructions === undefined ? fingerprint : { ...fingerprint, instructions: pinnedInstructions }
}
