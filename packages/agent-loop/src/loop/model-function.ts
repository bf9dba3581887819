import { resolveSchema } from '@bowline/llm'
import type { AssistantMessage, MessageStream } from '@bowline/llm'
import type { ModelFunction, ModelFunctionMessage, ToolDeclaration } from '../agent/options.ts'
import { copyJson, deepFreeze } from '../json.ts'
import type { GivenResult, ModelAnswer } from './answer.ts'
import { untilAborted } from './ask-owner.ts'
import type { CallRequest } from './build-request.ts'
import type { Turn } from './turn.ts'

type Answers = readonly [ModelAnswer, ...ModelAnswer[]]

/** Asks a model function. Rejects with what it throws, and when what it returned is no answer. */
export async function askFunction(turn: Turn, call: ModelFunction, request: CallRequest): Promise<Answers | MessageStream> {
  const { instructions, messages, runtimeParams } = request
  const { runId, number, step, attempt, stop } = turn
  const tools = await declarationsOf(request.tools)
  const asked = call({
    ...{ instructions, messages, tools, runtimeParams, abortSignal: stop.signal },
    ...{ runId, turn: number, step, attempt },
  })
  if (isStream(asked)) return asked
  const returned = await untilAborted(asked, stop.signal)
  return isStream(returned) ? returned : answersOf(turn, returned)
}

function isStream(value: unknown): value is MessageStream {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

const declared = new WeakMap<CallRequest['tools'], readonly ToolDeclaration[]>()

/** Made once per array of tools. */
async function declarationsOf(tools: CallRequest['tools']): Promise<readonly ToolDeclaration[]> {
  const known = declared.get(tools)
  if (known) return known
  const made = await Promise.all(
    tools.flatMap((tool) => ('inputSchema' in tool ? [tool] : [])).map(async ({ name, description = '', inputSchema }) => {
      const { jsonSchema } = await resolveSchema(inputSchema)
      return { name, description, inputSchema: jsonSchema }
    }),
  )
  declared.set(tools, made)
  return made
}

/** One answer per assistant message, with the results that follow it. */
function answersOf(turn: Turn, returned: unknown): Answers {
  if (!Array.isArray(returned)) throw new TypeError('a model function must return messages or a message stream')
  const answers: { message: AssistantMessage; results: Map<string, GivenResult> }[] = []
  for (const given of deepFreeze(copyJson(returned)) as unknown as readonly ModelFunctionMessage[]) {
    if (given.role === 'assistant') answers.push({ message: answerMessage(turn, given), results: new Map() })
    else answers.at(-1)?.results.set(given.toolCallId, given)
  }
  const [first, ...others] = answers
  if (!first) throw new TypeError('a model function must return at least one assistant message')
  return [first, ...others]
}

type GivenAnswer = Extract<ModelFunctionMessage, { role: 'assistant' }>

function answerMessage(turn: Turn, given: GivenAnswer): AssistantMessage {
  const content = typeof given.content === 'string' ? [{ type: 'text' as const, text: given.content }] : given.content
  const asksForTools = content.some((part) => part.type === 'tool-call' && !part.providerExecuted)
  return {
    ...turn.model.name,
    stopReason: asksForTools ? 'tool-calls' : 'stop',
    usage: {},
    at: turn.clock.now(),
    timing: { totalMs: 0 },
    ...given,
    // The log has named the message already.
    id: turn.messageId,
    content,
  }
}
