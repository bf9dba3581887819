import { subagentsOf, type Agent } from '@bowline/agent-loop'
import type { DeclaredTool, JsonObject, ToolDeclaration } from '@bowline/client'
import { findSchemaFault } from '@bowline/llm'
import type { AgentAccess, ClientTools } from '../options.ts'
import { faulty, ProblemError } from '../problems.ts'

/** Names of tools that a run with subagents has. */
const hostedNames: readonly string[] = ['background_output', 'background_cancel']

/** Returns the tool with its schema under the name that the loop knows. */
export function withInputSchema(tool: DeclaredTool): ToolDeclaration {
  if ('inputSchema' in tool) return tool
  const { parameters: inputSchema, ...others } = tool
  return { ...others, inputSchema }
}

/** Returns the tools that the client declares in addition to those of the agent. A remote tool of the agent stays the agent's. */
export function broughtTools(agent: Agent, given: readonly ToolDeclaration[], clientTools: ClientTools): readonly ToolDeclaration[] {
  if (given.length === 0) return []
  if (clientTools === 'none') throw notAllowed('The agent takes no tools from a client.')
  const declared = new Set(agent.tools.filter((tool) => !tool.execute && !tool.subagent).map((tool) => tool.name))
  const brought = given.filter((tool) => !declared.has(tool.name))
  const taken = new Set(clientTools === 'any' ? namesBelow(agent) : brought.map((tool) => tool.name))
  const refused = brought.filter((tool) => taken.has(tool.name)).map((tool) => tool.name)
  if (refused.length > 0) {
    const why = clientTools === 'any' ? 'belong to tools of the server' : 'are not tools that the agent leaves to the client'
    throw notAllowed(`${refused.join(', ')}: these names ${why}.`)
  }
  return brought
}

/** Refuses schemas that would take too long to use, because they would block the process. */
export async function checkSchemas(given: readonly DeclaredTool[], brought: readonly ToolDeclaration[]): Promise<void> {
  if (brought.length === 0) return
  const fault = await findSchemaFault(brought.map((tool) => tool.inputSchema))
  if (!fault) return
  const place = given.findIndex(({ name }) => name === brought[fault.index]?.name)
  const key = Object.hasOwn(given[place] ?? {}, 'parameters') ? 'parameters' : 'inputSchema'
  const path = `context.tools[${place}].${key}${fault.path && `.${fault.path}`}`
  throw faulty('invalid-body', [{ path, message: fault.message }])
}

/** Refuses the schema of a final answer if the agent does not allow one from a client, or if it would take too long to use. */
export async function checkOutputSchema({ clientOutput = false }: AgentAccess, output: JsonObject | undefined): Promise<void> {
  if (output === undefined) return
  if (!clientOutput) throw new ProblemError('option-not-allowed', 'The agent takes no output schema from a client.')
  const fault = await findSchemaFault([output])
  if (fault) throw faulty('invalid-body', [{ path: `options.output${fault.path && `.${fault.path}`}`, message: fault.message }])
}

/** Returns the tool names of the agent and its subagents. Child sessions get the client's tools too. */
function namesBelow(agent: Agent, seen: ReadonlySet<Agent> = new Set()): readonly string[] {
  if (seen.has(agent)) return []
  const subagents = subagentsOf(agent)
  return [
    ...hostedNames,
    ...agent.tools.map((tool) => tool.name),
    ...subagents.flatMap((subagent) => namesBelow(subagent, new Set([...seen, agent]))),
  ]
}

function notAllowed(detail: string): ProblemError {
  return new ProblemError('client-tools-not-allowed', detail)
}
