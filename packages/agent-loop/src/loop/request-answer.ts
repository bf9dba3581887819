import type { AssistantMessage, AssistantPart, MessageEvent } from '@bowline/llm'
import type { ModelAnswer } from './answer.ts'
import { buildRequest } from './build-request.ts'
import { CallIds } from './call-ids.ts'
import { DeltaPublisher } from './delta-publisher.ts'
import { failedAnswer } from './failed-answer.ts'
import { askFunction } from './model-function.ts'
import { openModelStream } from './model-stream.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** One attempt, from its request to its answer. It never rejects for what a model or its function does. */
export async function requestAnswer(turn: Turn, plan: StepPlan): Promise<ModelAnswer> {
  const ahead = turn.answersAhead[0]
  if (ahead) {
    turn.answersAhead = turn.answersAhead.slice(1)
    return publishWhole(turn, ahead)
  }
  const request = await buildRequest(turn, plan)
  if (turn.stop.signal.aborted) return failedAnswer(turn, turn.stop.signal.reason)
  try {
    const asked = request.target.kind === 'function' ? await askFunction(turn, request.target.call, request) : openModelStream(turn, request)
    if (Symbol.asyncIterator in asked) return await readStream(turn, asked)
    const [first, ...ahead] = asked
    turn.answersAhead = ahead
    return publishWhole(turn, first)
  } catch (error) {
    return failedAnswer(turn, error)
  }
}

async function readStream(turn: Turn, stream: AsyncIterable<MessageEvent>): Promise<ModelAnswer> {
  const calls = new CallIds(turn.transcript)
  const publisher = new DeltaPublisher(turn, calls)
  for await (const event of stream) {
    if (event.type === 'message-end') return answerOf(calls, event.message)
    if (event.type !== 'message-start') publisher.publish(event)
  }
  throw new Error('the model stream ended without its last event')
}

/** An answer that came whole: one delta per block. */
function publishWhole(turn: Turn, { message, results }: ModelAnswer): ModelAnswer {
  const calls = new CallIds(turn.transcript)
  const publisher = new DeltaPublisher(turn, calls)
  const named = { ...message, id: turn.messageId }
  for (const [index, part] of named.content.entries()) publishPart(publisher, index, part)
  return answerOf(calls, named, results)
}

function publishPart(publisher: DeltaPublisher, index: number, part: AssistantPart): void {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      publisher.publish({ type: `${part.type}-start`, index })
      if (part.text !== '') publisher.publish({ type: `${part.type}-delta`, index, delta: part.text })
      return publisher.publish({ type: `${part.type}-end`, index, text: part.text })
    case 'tool-call': {
      const { toolCallId, toolName, providerExecuted, inputText } = part
      publisher.publish({ type: 'tool-call-start', index, toolCallId, toolName, ...(providerExecuted && { providerExecuted }) })
      publisher.publish({ type: 'tool-call-delta', index, delta: inputText ?? JSON.stringify(part.input) })
      return publisher.publish({ type: 'tool-call-end', index, toolCall: part })
    }
    default:
      return publisher.publish({ type: 'content-part', index, part })
  }
}

/** With the ids under which the calls are known. */
function answerOf(calls: CallIds, message: AssistantMessage, results: ModelAnswer['results'] = new Map()): ModelAnswer {
  return {
    message: calls.renameIn(message),
    results: new Map([...results].map(([id, result]) => [calls.idFor(id), result])),
  }
}
