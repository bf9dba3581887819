import { resolveSchema } from '@bowline/llm'
import type { MessageStream } from '@bowline/llm'
import type { ToolDeclaration } from '../../contract/agent.ts'
import type { ModelFunction, ModelFunctionRequest } from '../../contract/options.ts'
import { failedAnswer, publishWhole } from '../../kernel/model-call.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Declarations } from '../../kernel/run-context.ts'
import type { ModelAnswer, RequestDraft } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { givenOutcome } from '../../tools/outcome.ts'
import { isGenerator } from '../../tools/output.ts'
import { readAnswers } from './function-answers.ts'
import { readFunctionStream } from './function-stream.ts'

/** Answers requests with a function of the agent. Results in its answer are stored, and their calls are not executed. */
export const modelFunctionPlugin: Plugin = {
  name: 'model-function',
  hooks: {
    model: (turn, request) => (request.target.kind === 'function' ? answerOf(turn, request.target.call, request) : undefined),
    reenter(_turn, { call, answer }) {
      const given = answer.results.get(call.row.toolCallId)
      return given && { kind: 'settled', outcome: givenOutcome(given) }
    },
  },
}

/** Rejects with the error that the function throws. An invalid answer becomes a failed answer. */
async function answerOf(turn: Turn, call: ModelFunction, request: RequestDraft): Promise<ModelAnswer> {
  const tools = declared.get(request.tools) ?? (await declarationsOf(request.tools))
  if (turn.stop.requested) return failedAnswer(turn, turn.stop.signal.reason)
  const asked = call(requestFor(turn, request, tools))
  const returned: unknown = isGenerator(asked) ? asked : await turn.stop.until(asked)
  if (isGenerator(returned)) return readFunctionStream(turn, returned as MessageStream)
  const [first, ...later] = readAnswers(turn, returned)
  turn.bufferedAnswers = later
  return publishWhole(turn, first)
}

function requestFor(
  turn: Turn,
  { instructions, messages, runtimeParams: params }: RequestDraft,
  tools: readonly ToolDeclaration[],
): ModelFunctionRequest {
  const { runId, number, step, attempt, stop } = turn
  const { model: _chosen, systemPrompt: _prompt, ...runtimeParams } = params
  // Copied, because the list itself keeps growing.
  return { instructions, messages: [...messages], tools, runtimeParams, abortSignal: stop.signal, runId, turn: number, step, attempt }
}

const declared = new WeakMap<Declarations, readonly ToolDeclaration[]>()

/** Converts the tools, once per array. */
async function declarationsOf(tools: Declarations): Promise<readonly ToolDeclaration[]> {
  const made = await Promise.all(
    tools
      .flatMap((tool) => ('inputSchema' in tool ? [tool] : []))
      .map(async ({ name, description = '', inputSchema }) => {
        const { jsonSchema } = await resolveSchema(inputSchema)
        return { name, description, inputSchema: jsonSchema }
      }),
  )
  declared.set(tools, made)
  return made
}
