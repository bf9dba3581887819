import { systemClock } from '../clock.ts'
import type { MessageEvent } from '../events.ts'
import type { AssistantMessage } from '../messages.ts'
import { newMessageId } from '../message-id.ts'
import { LlmError } from '../model-error.ts'
import type { ModelRequest } from '../model-request.ts'
import { observeCall } from '../telemetry/observe-call.ts'
import { readPrice } from '../usage/price.ts'
import { abortReasonOf } from './abort-reason.ts'
import { prepareCall } from './call-options.ts'
import { callTarget } from './call-target.ts'
import { checkRequest } from './check-request.ts'
import { EventIterator } from './event-iterator.ts'
import { Pump } from './pump.ts'

/**
 * One model call as events. The request is sent at the first `next()` or `result()`. It can be iterated once; leaving the iteration
 * early aborts the call.
 */
export interface MessageStream extends AsyncIterable<MessageEvent, undefined> {
  readonly messageId: string
  /** Ends the call as `aborted`. Can be called at any time, repeatedly. */
  abort(reason?: string): void
  /** Resolves with the whole message, also after an error or abort. Must always settle and never reject. */
  result(): Promise<AssistantMessage>
}

/**
 * Calls a model once, when the stream is first read. Throws `LlmError` for a request that can never work. Failures of the call are
 * reported in the message.
 */
export function streamMessage(request: ModelRequest): MessageStream {
  checkRequest(request)
  const target = callTarget(request)
  const { abortSignal: outerSignal, clock = systemClock, timeouts = {}, messageId = newMessageId() } = request
  const { provider, modelId } = target
  const { price = target.info.price } = request
  const pump = new Pump({
    messageId,
    target,
    tariff: price === undefined ? undefined : readPrice(price),
    clock,
    timeouts,
    abortSignal: outerSignal,
    prepare: (abortSignal) => prepareCall(request, { target, abortSignal }),
    onRequest: request.onRequest,
    observe: () => observeCall({ messageId, provider, modelId }, request.telemetry),
  })
  let result: Promise<AssistantMessage> | undefined
  let iterated = false
  return {
    messageId,
    abort: (reason) => pump.abort(abortReasonOf(reason)),
    result: () => (result ??= new Promise((resolve) => pump.settled(resolve))),
    [Symbol.asyncIterator]() {
      if (iterated) throw new LlmError('invalid-input', 'a message stream can be iterated only once; call streamMessage again')
      iterated = true
      return new EventIterator(pump)
    },
  }
}
