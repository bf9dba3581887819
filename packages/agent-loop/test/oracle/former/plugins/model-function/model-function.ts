import { resolveSchema } from '@bowline/llm'
import type { MessageStream } from '@bowline/llm'
import type { ToolDeclaration } from '../../contract/agent.ts'
import type { ModelFunction } from '../../contract/options.ts'
import type { CallRequest } from '../../kernel/build-request.ts'
import type { Turn } from '../../kernel/turn.ts'
import { isGenerator } from '../../tools/generator.ts'
import { readAnswers } from './function-answers.ts'
import type { Answers } from './function-answers.ts'

/**
 * Asks a model function. Rejects with what it throws; what is no answer is a failed one. Undefined: the run was stopped
 * before it was asked.
 */
export async function askFunction(turn: Turn, call: ModelFunction, request: CallRequest): Promise<Answers | MessageStream | undefined> {
  const { instructions, messages, runtimeParams } = request
  const { runId, number, step, attempt, stop } = turn
  const tools = declared.get(request.tools) ?? (await declarationsOf(request.tools))
  if (stop.requested) return undefined
  const asked = call({
    // The list itself goes on growing.
    ...{ instructions, messages: [...messages], tools, runtimeParams, abortSignal: stop.signal },
    ...{ runId, turn: number, step, attempt },
  })
  if (isGenerator(asked)) return asked
  const returned: unknown = await stop.until(asked)
  return isGenerator(returned) ? (returned as MessageStream) : readAnswers(turn, returned)
}

const declared = new WeakMap<CallRequest['tools'], readonly ToolDeclaration[]>()

/** Made once per array of tools. */
async function declarationsOf(tools: CallRequest['tools']): Promise<readonly ToolDeclaration[]> {
  const made = await Promise.all(
    tools.flatMap((tool) => ('inputSchema' in tool ? [tool] : [])).map(async ({ name, description = '', inputSchema }) => {
      const { jsonSchema } = await resolveSchema(inputSchema)
      return { name, description, inputSchema: jsonSchema }
    }),
  )
  declared.set(tools, made)
  return made
}
