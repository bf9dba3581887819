import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessageChunk, isAIMessageChunk, isToolMessage, type BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { z } from 'zod'
import {
  answerAfter,
  argumentDelta,
  argumentsText,
  nothingSeen,
  textDelta,
  toolDescription,
  toolName,
  type Answer,
  type Contender,
  type Seen,
  type Watch,
} from '../../src/contender.ts'

// If callbacks run in the background, a stream may end before its last deltas. With concurrent turns, readers would miss some.
process.env.LANGCHAIN_CALLBACKS_BACKGROUND = 'false'

/** Prebuilt agent of LangGraph with the benchmark's chat model, read as messages. */
export const contender: Contender = contenderOf({})

type AgentParams = Parameters<typeof createReactAgent>[0]

export type AgentState = Pick<AgentParams, 'stateSchema'>

/** Creates the contender. `state` may put its messages into another kind of channel. */
export function contenderOf(state: AgentState): Contender {
  return {
    packageUrl: import.meta.resolve('@langchain/langgraph/prebuilt'),
    prepare(answers) {
      const llm = new AnswersModel(answers)
      const agent = createReactAgent({ llm, tools: [writeTool('done')], ...state })
      return {
        async bare({ onText }) {
          for await (const { text } of llm._streamResponseChunks([])) if (text !== '') onText?.()
        },
        run: async (watch) => readChunks(await agent.stream(input, { streamMode: 'messages', recursionLimit: stepLimit(answers) }), watch),
        runWithReaders: { unable: 'its stream has one reader' },
      }
    },
  }
}

export const input = { messages: [{ role: 'user', content: 'go' }] }

/** Returns the limit of steps: each answer is one, and each tool is one. */
export function stepLimit(answers: readonly Answer[]): number {
  return answers.length * 2 + 1
}

export function writeTool(result: string) {
  return tool(() => result, { name: toolName, description: toolDescription, schema: z.object({ text: z.string() }) })
}

export async function readChunks(chunks: AsyncIterable<[message: unknown, metadata: unknown]>, watch: Watch): Promise<Seen> {
  const seen = nothingSeen()
  for await (const [message] of chunks) count(message as BaseMessage, seen, watch)
  return seen
}

function count(message: BaseMessage, seen: Seen, { onText, onToolResult }: Watch): void {
  if (isToolMessage(message)) {
    seen.toolResults += 1
    onToolResult?.()
  } else if (isAIMessageChunk(message as AIMessageChunk)) {
    if (message.content !== '') {
      seen.textDeltas += 1
      onText?.()
    }
    seen.argumentDeltas += (message as AIMessageChunk).tool_call_chunks?.length ?? 0
  }
}

export class AnswersModel extends BaseChatModel {
  readonly #answers: readonly Answer[]

  constructor(answers: readonly Answer[]) {
    super({})
    this.#answers = answers
  }

  _llmType(): string {
    return 'answers'
  }

  override bindTools(): this {
    return this
  }

  _generate(): Promise<never> {
    return Promise.reject(new Error('The benchmark model only streams'))
  }

  override async *_streamResponseChunks(
    messages: readonly BaseMessage[],
    _options?: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const step = messages.reduce((results, message) => results + (isToolMessage(message) ? 1 : 0), 0)
    const answer = answerAfter(this.#answers, step)
    for (let position = 0; position < (answer.text ?? 0); position += 1) {
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk({ content: textDelta }), text: textDelta })
      yield chunk
      await manager?.handleLLMNewToken(textDelta, undefined, undefined, undefined, undefined, { chunk })
    }
    const deltas = answer.arguments ?? 0
    const input = deltas === 0 ? '' : argumentsText(deltas)
    for (let position = 0; position < deltas; position += 1) {
      const first = position === 0 && { id: `call-${step}`, name: toolName }
      const part = { type: 'tool_call_chunk' as const, index: 0, args: argumentDelta(input, position), ...first }
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk({ content: '', tool_call_chunks: [part] }), text: '' })
      yield chunk
      await manager?.handleLLMNewToken('', undefined, undefined, undefined, undefined, { chunk })
    }
  }
}
