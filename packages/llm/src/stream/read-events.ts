import { checkInput } from '../check.ts'
import type { MessageEvent } from '../events.ts'
import type { AssistantMessage } from '../messages.ts'
import { EventIterator } from './event-iterator.ts'
import { nextTurn, partsPerTurn } from './next-turn.ts'
import type { MessageStream } from './stream-message.ts'

type OnEvent = (event: MessageEvent) => void

/**
 * Reads a stream to its end and passes each event to `onEvent`. Like `for await`, but without a promise per event and without
 * slowing the provider. Events come only after this function has returned. Resolves with the message. If `onEvent` throws, the call
 * ends as `aborted` and the promise rejects with that error. Throws `LlmError` `invalid-input` if the stream has a reader.
 */
export function readEvents(stream: MessageStream, onEvent: OnEvent): Promise<AssistantMessage> {
  checkInput.checkRequired('stream', stream, 'the result of streamMessage', isStream)
  checkInput.checkRequired('onEvent', onEvent, 'a function', (given) => typeof given === 'function')
  const iterator = stream[Symbol.asyncIterator]()
  return iterator instanceof EventIterator ? pushed(stream, iterator, onEvent) : pulled(stream, iterator, onEvent)
}

function isStream(stream: unknown): boolean {
  const { [Symbol.asyncIterator]: iterate, result } = (stream ?? {}) as Partial<Record<PropertyKey, unknown>>
  return typeof iterate === 'function' && typeof result === 'function'
}

async function pushed(stream: MessageStream, iterator: EventIterator, onEvent: OnEvent): Promise<AssistantMessage> {
  let broken: { readonly thrown: unknown } | undefined
  // Lets the caller finish its own statements first, because `onEvent` may use their variables.
  await Promise.resolve()
  iterator.push((event) => {
    if (broken) return
    try {
      onEvent(event)
    } catch (thrown) {
      broken = { thrown }
      void iterator.return()
    }
  })
  const message = await stream.result()
  if (broken) throw broken.thrown
  return message
}

async function pulled(
  stream: MessageStream,
  iterator: AsyncIterator<MessageEvent, undefined>,
  onEvent: OnEvent,
): Promise<AssistantMessage> {
  let count = 0
  for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
    onEvent(event)
    count += 1
    if (count % partsPerTurn === 0) await nextTurn()
  }
  return stream.result()
}
