import { streamMessage } from '@bowline/llm'
import type { MessageStream } from '@bowline/llm'
import type { CallRequest } from './build-request.ts'
import type { Turn } from './turn.ts'

/** Throws `LlmError` for a request that can never work. */
export function openModelStream(turn: Turn, request: CallRequest): MessageStream {
  const { target, messages, tools, instructions, runtimeParams, toolChoice } = request
  if (target.kind !== 'model') throw new TypeError('a model function makes its own stream')
  const { models } = turn.agent
  return streamMessage({
    model: target.model,
    messages,
    tools,
    runtimeParams,
    abortSignal: turn.stop.signal,
    messageId: turn.messageId,
    clock: turn.clock,
    ...(models && { models }),
    ...(instructions !== '' && { instructions }),
    ...(toolChoice !== undefined && { toolChoice }),
  })
}
