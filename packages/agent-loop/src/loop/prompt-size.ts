import { resolveSchema } from '@bowline/llm'
import type { AgentDefinition } from '../agent/definition.ts'
import type { Turn } from './turn.ts'

const sizes = new WeakMap<AgentDefinition['declarations'], Promise<number>>()

/** Tells the estimate how much instructions and tools add to each request. */
export async function weighPrompt(turn: Turn): Promise<void> {
  turn.transcript.estimate.usePrompt(turn.instructions.length + (await sizeOf(turn.agent.declarations)))
}

/** Read once per list of tools. What cannot be read fails in the call, which says so. */
function sizeOf(declarations: AgentDefinition['declarations']): Promise<number> {
  const known = sizes.get(declarations)
  if (known) return known
  const size = Promise.all(declarations.map(charactersOf)).then((all) => all.reduce((sum, characters) => sum + characters, 0))
  sizes.set(declarations, size)
  return size
}

async function charactersOf(tool: AgentDefinition['declarations'][number]): Promise<number> {
  if (!('inputSchema' in tool)) return JSON.stringify(tool).length
  const { name, description = '', inputSchema } = tool
  const schema = await resolveSchema(inputSchema).catch(() => undefined)
  return name.length + description.length + JSON.stringify(schema?.jsonSchema ?? {}).length
}
