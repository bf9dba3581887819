import { readEvents } from '@bowline/llm'
import type { AssistantPart, MessageStream } from '@bowline/llm'
import type { ModelFunction } from '../contract/options.ts'
import { readFunctionStream } from '../plugins/model-function/function-stream.ts'
import { askFunction } from '../plugins/model-function/model-function.ts'
import type { ModelAnswer } from './answer.ts'
import { buildRequest } from './build-request.ts'
import type { CallRequest } from './build-request.ts'
import { CallIds } from './call-ids.ts'
import { withEstimate } from './counted-answer.ts'
import { DeltaPublisher } from './delta-publisher.ts'
import { failedAnswer } from './failed-answer.ts'
import { openModelStream } from './model-stream.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** One attempt, from its request to its answer. It never rejects for what a model or its function does. */
export async function requestAnswer(turn: Turn, plan: StepPlan): Promise<ModelAnswer> {
  const [ahead, ...later] = turn.answersAhead
  if (ahead) {
    turn.answersAhead = later
    return publishWhole(turn, ahead)
  }
  const built = turn.stop.requested ? undefined : buildRequest(turn, plan)
  const request = built instanceof Promise ? await built : built
  if (!request || turn.stop.requested) return failedAnswer(turn, turn.stop.signal.reason)
  try {
    const { target } = request
    return await (target.kind === 'function' ? answerOfFunction(turn, target.call, request) : readStream(turn, openModelStream(turn, request)))
  } catch (error) {
    const failed = failedAnswer(turn, error)
    // It was asked, and nobody says what it has used.
    return failed.message.stopReason === 'aborted' ? withEstimate(turn, failed) : failed
  }
}

async function answerOfFunction(turn: Turn, call: ModelFunction, request: CallRequest): Promise<ModelAnswer> {
  const asked = await askFunction(turn, call, request)
  if (!asked) return failedAnswer(turn, turn.stop.signal.reason)
  if (Symbol.asyncIterator in asked) return readFunctionStream(turn, asked)
  const [first, ...ahead] = asked
  turn.answersAhead = ahead
  return publishWhole(turn, first)
}

async function readStream(turn: Turn, stream: MessageStream): Promise<ModelAnswer> {
  const calls = new CallIds(turn.transcript)
  const publisher = new DeltaPublisher(turn, calls)
  const message = await readEvents(stream, (event) => {
    if (event.type !== 'message-start' && event.type !== 'message-end') publisher.publish(event)
  })
  return { message: calls.renameIn(message), results: new Map() }
}

/** An answer that came whole: one delta per block. */
function publishWhole(turn: Turn, { message, results }: ModelAnswer): ModelAnswer {
  const calls = new CallIds(turn.transcript)
  const publisher = new DeltaPublisher(turn, calls)
  const named = { ...message, id: turn.messageId }
  for (const [index, part] of named.content.entries()) publishPart(publisher, index, part)
  return calls.renamed({ message: named, results })
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
