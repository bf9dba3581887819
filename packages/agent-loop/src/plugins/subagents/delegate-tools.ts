import type { JSONSchema7 } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { refuseConfig } from '../../base/checks.ts'
import { deepFreeze } from '../../base/json.ts'
import type { Agent, Subagent, Tool } from '../../contract/agent.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { ChildHost } from '../../contract/journal.ts'
import { isDefined } from '../../kernel/run-context.ts'
import type { AgentSetup } from '../../kernel/run-context.ts'
import { buildTool, declarationOf, isTool } from '../../tools/tool.ts'

const namePattern = /^[a-z][a-z0-9_-]{0,51}$/

/** The text is capped before. The JSON around it must not cause a second cut. */
const maxOutputCharacters = 150_000

/** Returns one tool per subagent. Throws `invalid-config`. */
export function delegateTools(subagents: readonly Agent[]): readonly Tool[] {
  const tools = new Map<string, Tool>()
  for (const [place, agent] of subagents.entries()) {
    const subagent = checkSubagent(`subagents[${place}]`, agent)
    const name = `delegate_to_${subagent.name.replaceAll('-', '_')}`
    if (tools.has(name)) refuseConfig(`subagents: two subagents would get the tool name ${name}; rename one of them`)
    tools.set(name, delegateTool(name, subagent))
  }
  return [...tools.values()]
}

/**
 * Returns the agent with the tools of the journal's host: its delegate tools take the input that the host offers, and the host's
 * own tools are added.
 */
export function withHostedTools<Setup extends AgentSetup>(agent: Setup, host: ChildHost): Setup {
  const { tools: added = [] } = host
  const hasSubagents = [...agent.tools.values()].some((tool) => tool.subagent)
  if (!hasSubagents || (!host.sessionKeys && !host.background && added.length === 0)) return agent
  const hosted = new Map([...agent.tools].map(([name, tool]) => [name, tool.subagent ? delegateTool(name, tool.subagent, host) : tool]))
  const declarations = agent.declarations.map((declaration) => {
    const tool = hosted.get(declaration.name)
    return tool?.subagent ? declarationOf(tool) : declaration
  })
  for (const [index, tool] of added.entries()) {
    if (!isTool(tool)) refuseConfig(`journal.children.tools[${index}] is not made by defineTool`)
    if (agent.toolNames.includes(tool.name))
      refuseConfig(`the tool "${tool.name}" has the name of a tool that comes with subagents; rename it`)
    hosted.set(tool.name, tool)
    declarations.push(declarationOf(tool))
  }
  return { ...agent, tools: hosted, declarations, toolNames: declarations.map(({ name }) => name) }
}

/**
 * Returns the agents that this agent can delegate to, as they were given to it. Throws `AgentError` `invalid-config` for an agent
 * that `defineAgent` did not make.
 */
export function subagentsOf(agent: Agent): readonly Agent[] {
  if (!isDefined(agent)) refuseConfig(`agent must be made by defineAgent; received ${describeValue(agent)}`)
  return agent.tools.flatMap((tool) => tool.subagent?.source ?? [])
}

const nothing = { sessionKeys: false, background: false }

function delegateTool(name: string, subagent: Subagent, offers: Pick<ChildHost, 'sessionKeys' | 'background'> = nothing): Tool {
  const { description = '' } = subagent.source
  return buildTool({ name, description, inputSchema: delegateSchema(offers), effect: 'idempotent', maxOutputCharacters, subagent })
}

function checkSubagent(place: string, given: Agent): Subagent {
  if (!isDefined(given)) return refuseConfig(`${place} is not made by defineAgent`)
  const { name, description = '' } = given
  if (name === undefined || !namePattern.test(name)) {
    return refuseConfig(
      `${place} needs a name of at most 52 lowercase letters, digits, _ and -, beginning with a letter; received "${name ?? ''}"`,
    )
  }
  if (description.trim() === '') return refuseConfig(`${place}: ${name} needs a description, which tells the model when to use it`)
  return { name, source: given }
}

/** The input of a model that delegates work, once it is validated. */
export interface DelegateInput {
  readonly prompt: Extract<AgentInput, string> | readonly [Part, ...Part[]]
  readonly description?: string
  readonly sessionKey?: string
  readonly run_in_background?: boolean
}

type Part = Extract<AgentInput, readonly { readonly type: string }[]>[number]

function closed(properties: Record<string, JSONSchema7>, optional: readonly string[] = []): JSONSchema7 {
  const required = Object.keys(properties).filter((key) => !optional.includes(key))
  return { type: 'object', properties, required, additionalProperties: false }
}

const text: JSONSchema7 = { type: 'string' }
const only = (value: string): JSONSchema7 => ({ type: 'string', enum: [value] })

const textPart = closed({ type: only('text'), text })
const fileData: JSONSchema7 = { anyOf: [closed({ type: only('data'), data: text }), closed({ type: only('url'), url: text })] }
const filePart = closed({ type: only('file'), mediaType: text, filename: text, data: fileData }, ['filename'])

const promptField: JSONSchema7 = {
  description: 'The task, with all that the agent needs to know: it sees nothing of this conversation.',
  anyOf: [
    { type: 'string', minLength: 1 },
    { type: 'array', minItems: 1, items: { anyOf: [textPart, filePart] } },
  ],
}

const descriptionField: JSONSchema7 = { type: 'string', description: 'The task in a few words, for whoever watches.' }

const sessionKeyField: JSONSchema7 = {
  description: 'Goes on with the earlier conversation that was given this key, or begins it.',
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,80}$',
}

const backgroundField: JSONSchema7 = {
  type: 'boolean',
  description: 'True: do not wait for the agent. Its result is told when it is there.',
}

type Offers = Pick<ChildHost, 'sessionKeys' | 'background'>

function schemaFor(offers: Offers): JSONSchema7 {
  const properties = {
    prompt: promptField,
    description: descriptionField,
    ...(offers.sessionKeys && { sessionKey: sessionKeyField }),
    ...(offers.background && { run_in_background: backgroundField }),
  }
  return deepFreeze(closed(properties, ['description', 'sessionKey', 'run_in_background']))
}

const schemas = [false, true].map((sessionKeys) =>
  [false, true].map((inBackground) => schemaFor({ sessionKeys, background: inBackground })),
)

/** Returns the input schema of delegate tools. The same object for the same offers, so that it is read once. */
function delegateSchema({ sessionKeys, background: inBackground }: Offers): JSONSchema7 {
  return schemas[Number(sessionKeys)]?.[Number(inBackground)] as JSONSchema7
}
