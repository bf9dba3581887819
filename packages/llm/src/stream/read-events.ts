import { checkInput } from '../check.ts'
import type { MessageEvent } from '../events.ts'
import type { AssistantMessage } from '../messages.ts'
import { EventIterator } from './event-iterator.ts'
import { nextTurn, partsPerTurn } from './next-turn.ts'
import type { MessageStream } from './stream-message.ts'

type OnEvent = (event: MessageEvent) => void

/**
 * Reads a stream to its end as fast as it comes and hands each event to `onEvent`: what `for await` does, without a
 * promise per event, and without holding the provider up. No event comes before this function returns. It gives the
 * message. When `onEvent` throws, the reader has left: the call ends as `aborted`, and what was thrown comes
 * back as the rejection. A stream that has a reader throws `LlmError` `invalid-input`.
 */
export function readEvents(stream: MessageStream, onEvent: OnEvent): Promise<AssistantMessage> {
  checkInput.checkRequired('stream', stream, 'what streamMessage gave', isStream)
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
  // The caller is to have all that its `onEvent` reaches for.
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
