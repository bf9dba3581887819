import { resolveSchema } from '@bowline/llm'
import type { Declarations } from './run-context.ts'
import type { Turn } from './turn.ts'

const sizes = new WeakMap<Declarations, number>()

/** Tells the estimate how much instructions and tools add to each request. */
export async function weighPrompt(turn: Turn): Promise<void> {
  if (weighKnownPrompt(turn)) return
  const { declarations } = turn.agent
  sizes.set(declarations, await sizeOf(declarations))
  weighKnownPrompt(turn)
}

/** The same when the list of tools was read before; false when it was not. */
export function weighKnownPrompt({ agent, instructions, transcript }: Turn): boolean {
  const size = sizes.get(agent.declarations)
  if (size !== undefined) transcript.estimate.usePrompt(instructions.length + size)
  return size !== undefined
}

/** What cannot be read fails in the call, which says so. */
async function sizeOf(declarations: Declarations): Promise<number> {
  const all = await Promise.all(declarations.map(charactersOf))
  return all.reduce((sum, characters) => sum + characters, 0)
}

async function charactersOf(tool: Declarations[number]): Promise<number> {
  if (!('inputSchema' in tool)) return JSON.stringify(tool).length
  const { name, description = '', inputSchema } = tool
  const schema = await resolveSchema(inputSchema).catch(() => undefined)
  return name.length + description.length + JSON.stringify(schema?.jsonSchema ?? {}).length
}
