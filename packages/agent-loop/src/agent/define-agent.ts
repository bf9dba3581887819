import { systemClock } from '@bowline/llm'
import { describeValue, versionMark } from '@bowline/llm/arguments'
import manifest from '../../package.json' with { type: 'json' }
import { checkKeys, checkList, checkName, checkRequired, checkText, refuseConfig } from '../base/checks.ts'
import type {
  Agent,
  AgentFingerprint,
  AgentTools,
  CompactOptions,
  InferOutput,
  RunOptions,
  SpawnChildOptions,
  Tool,
} from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import type { AgentInput } from '../contract/input.ts'
import type { AgentOptions, CacheSetting } from '../contract/options.ts'
import type { InputSchema } from '../contract/tool.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { compile } from '../kernel/plugin.ts'
import { definitionKey } from '../kernel/run-context.ts'
import type { SystemPrompt } from '../kernel/run-context.ts'
import { startRun } from '../run/agent-run.ts'
import { definitionOf, invalidatePrompt } from '../run/definition.ts'
import type { AgentDefinition, SpawningRun } from '../run/definition.ts'
import { compactConversation } from './compact-conversation.ts'
import { defineExtensions } from './define-extension.ts'
import { makeDefinition } from './make-definition.ts'

/** Creates an agent that is typed by its tools. Makes no call. Throws `AgentError` `invalid-config` that names the wrong option. */
export function defineAgent<Tools extends AgentTools = AgentTools, Schema extends InputSchema = never>(
  options: AgentOptions<Tools, Schema>,
): Agent<Tools, InferOutput<Schema>> {
  return agentOf(withCache(makeDefinition(options, spawnChildIn), options.cache))
}

/**
 * Returns the same agent with further extensions after its own. Its subagents get them too. Throws `AgentError` `invalid-config`
 * if a name is taken or `defineAgent` did not make the agent.
 */
export function withExtensions(agent: Agent, extensions: readonly Extension[]): Agent {
  const definition = definitionOf(agent) ?? refuseConfig(`agent must be made by defineAgent; received ${describeValue(agent)}`)
  checkRequired('extensions', extensions, 'a list of extensions', Array.isArray)
  return agentOf(definition.extend(defineExtensions(extensions), withExtensions))
}

/**
 * Returns the definition with this cache setting. Subagents without a setting of their own take it over, and so do their subagents.
 */
function withCache(definition: AgentDefinition, cache: CacheSetting = 'auto'): AgentDefinition {
  if (cache === definition.cache) return definition
  const tools = new Map<string, Tool>()
  for (const [name, tool] of definition.tools) {
    const { subagent } = tool
    const child = definitionOf(subagent?.source)
    const inherits = subagent && child && child.ownCache === undefined
    tools.set(name, inherits ? { ...tool, subagent: { ...subagent, source: agentOf(withCache(child, cache)) } } : tool)
  }
  return { ...definition, cache, tools, extend: (more, below) => withCache(definition.extend(more, below), cache) }
}

/** Returns the public object of a definition. */
function agentOf(definition: AgentDefinition): Agent {
  const { name, description } = definition
  return Object.freeze({
    ...versionMark(manifest),
    [definitionKey]: definition,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    tools: Object.freeze([...definition.tools.values()]),
    get diagnostics() {
      return definition.diagnostics()
    },
    run: ((input: AgentInput | undefined, options: RunOptions = {}) => startRun(definition, input, options)) as Agent['run'],
    compact: (options: CompactOptions) => compactConversation(definition, options, (child) => spawnChildOf(definition, child)),
    spawnChild: (options?: SpawnChildOptions) => spawnChildOf(definition, options),
    reload: () => definition.reload(),
    invalidatePrompt: (channel?: string) => invalidatePrompt(definition, channel),
    fingerprint: () => fingerprintOf(definition),
  } satisfies Agent & { readonly [definitionKey]: AgentDefinition })
}

async function fingerprintOf(definition: AgentDefinition): Promise<AgentFingerprint> {
  const { fingerprints, model, models, runtimeParams, toolNames, pinnedPrompt, runDefaults = {} } = definition
  const { name } = modelTarget(model, models, runtimeParams)
  const { channel, sessionKey, clock = systemClock } = runDefaults
  const fingerprint = await fingerprints.of(name, {
    tools: toolNames,
    now: clock.now(),
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { sessionKey }),
  })
  return pinnedPrompt === undefined ? fingerprint : { ...fingerprint, instructions: pinnedPrompt.text }
}

/**
 * Creates an agent for side work. It shares model, params, prompt cache and all tools, so that prompt and tools of its requests are
 * byte-identical to the parent's. A call of a tool that `options.tools` does not list gets an error outcome. Throws
 * `invalid-config`.
 */
function spawnChildOf(parent: AgentDefinition, options: SpawnChildOptions = {}): Agent {
  checkKeys('spawnChild.options', options, ['tools', 'channel', 'sessionKey'])
  checkList('tools', options.tools)
  const { tools = [], channel, sessionKey } = options
  for (const [index, name] of tools.entries()) checkName(`tools[${index}]`, name)
  checkText('channel', channel)
  checkText('sessionKey', sessionKey)
  const unknown = tools.find((name) => !mayRun(parent, name))
  if (unknown !== undefined) refuseConfig(`tools: the parent does not have the tool "${unknown}", or may not run it; leave it out`)
  const pluginList = () =>
    parent.pluginList().filter(({ name }) => name !== 'extensions' && name !== 'compaction' && !name.startsWith('output'))
  return agentOf({
    ...parent,
    allowed: new Set(tools),
    pluginList,
    plugins: () => compile(pluginList()),
    extensions: [],
    extend: () => refuseConfig('an agent of spawnChild cannot have extensions; give them to its parent'),
    output: undefined,
    compaction: { kind: 'off' },
    runDefaults: { ...parent.runDefaults, ...(channel !== undefined && { channel }), ...(sessionKey !== undefined && { sessionKey }) },
  })
}

/**
 * As `spawnChildOf`, but inside of a run: the parent is the agent as that run uses it, with the prompt and params of its requests.
 */
function spawnChildIn(run: SpawningRun, prompt: SystemPrompt, options: SpawnChildOptions = {}): Agent {
  const { agent } = run
  const { channel = run.channel, sessionKey = run.sessionKey } = options
  const samePrompt = channel === run.channel && sessionKey === run.sessionKey
  const [target] = run.models
  // `model` is left out: the run has resolved it, or has a pinned one.
  const { model: _resolved, ...runtimeParams } = run.params
  return spawnChildOf(
    {
      ...agent,
      model: target.kind === 'function' ? target.call : target.model,
      runtimeParams,
      // The prompt is empty until the run has built it. In that case the child builds its own.
      pinnedPrompt: samePrompt && prompt.text !== '' ? prompt : run.pinnedPrompt,
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

/** Returns whether the parent itself may run a tool: a child must not get rights that its parent lacks. */
function mayRun({ tools, allowed }: AgentDefinition, name: string): boolean {
  return tools.has(name) && (allowed?.has(name) ?? true)
}
