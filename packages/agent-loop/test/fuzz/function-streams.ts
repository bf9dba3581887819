import type { AssistantMessage, MessageEvent, MessageStream } from '@bowline/llm'
import { nonsense } from './function-nonsense.ts'
import type { World } from './world.ts'

export const streamActs = [
  ...['tells', 'tells', 'tells', 'is-cut', 'breaks', 'breaks-at-once', 'waits', 'is-deaf', 'lies', 'babbles', 'ends-badly', 'ends-twice'],
  ...['never-closes', 'closes-badly', 'cannot-abort', 'is-none'],
] as const
export type StreamAct = (typeof streamActs)[number]

export interface Telling {
  readonly world: World
  readonly act: StreamAct
  readonly message: AssistantMessage
  readonly abortSignal: AbortSignal
  readonly delayMs: number
}

/** Makes a stream as a model function may make it itself. */
export function ownStream(telling: Telling): MessageStream {
  const { act } = telling
  if (act === 'is-none') return { [Symbol.asyncIterator]: () => fail('there is no iterator') } as never
  const events = tell(telling)
  if (act !== 'cannot-abort') return events as never
  return Object.assign(events, { abort: () => fail('it cannot be stopped') }) as never
}

async function* tell({ world, act, message, abortSignal, delayMs }: Telling): AsyncGenerator<MessageEvent> {
  try {
    world.beat()
    if (act === 'breaks-at-once') fail('the stream broke at once')
    yield { type: 'message-start', messageId: 'its own', provider: 'own', modelId: 'own', at: 0 }
    const events = message.content.flatMap(eventsOf)
    for (const [place, event] of events.entries()) {
      world.beat()
      if (delayMs > 0) await world.sleep(1)
      if (place === Math.floor(events.length / 2)) await disturb(world, act, abortSignal)
      if (act === 'babbles') yield* babble(event)
      else yield event
    }
    if (act === 'is-cut') return
    yield { type: 'message-end', message: endOf(act, message) }
    if (act === 'ends-twice') yield { type: 'message-end', message }
  } finally {
    if (act === 'never-closes') await new Promise(() => {})
    // oxlint-disable-next-line no-unsafe-finally -- a stream that breaks when it is left
    if (act === 'closes-badly') throw new Error('it does not close')
  }
}

async function disturb(world: World, act: StreamAct, abortSignal: AbortSignal): Promise<void> {
  if (act === 'breaks') fail('the stream broke')
  if (act === 'is-deaf' || act === 'cannot-abort') await new Promise(() => {})
  if (act !== 'waits') return
  await aborted(abortSignal)
  await world.sleep(10)
  fail('stopped as asked')
}

function endOf(act: StreamAct, message: AssistantMessage): AssistantMessage {
  if (act === 'lies') return { ...message, content: [{ type: 'text', text: 'something else' }] }
  if (act !== 'ends-badly') return message
  const [given] = [nonsense(message.at)].flat()
  return given as AssistantMessage
}

function eventsOf(part: AssistantMessage['content'][number], index: number): MessageEvent[] {
  if (part.type === 'text' || part.type === 'reasoning') {
    const { type, text } = part
    return [
      { type: `${type}-start`, index },
      { type: `${type}-delta`, index, delta: text },
      { type: `${type}-end`, index, text },
    ]
  }
  if (part.type !== 'tool-call') return []
  const { toolCallId, toolName, input } = part
  return [
    { type: 'tool-call-start', index, toolCallId, toolName },
    { type: 'tool-call-delta', index, delta: JSON.stringify(input) },
    { type: 'tool-call-end', index, toolCall: part },
  ]
}

/** Yields events that no stream should have, around a correct one. */
function* babble(event: MessageEvent): Generator<MessageEvent> {
  const { index = 0 } = event as { index?: number }
  if (index === 1) yield null as never
  yield { ...event, index: index + 5 } as never
  yield event
  yield { type: 'text-delta', index, delta: 7 } as never
  yield { type: 'turn-end', index, status: 'completed' } as never
  yield { type: 'text-start', index } as never
  yield { type: 'content-part', index, part: { type: 'thought', made: () => 1n } } as never
  yield { ...event, seq: 3 } as never
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

export function fail(message: string): never {
  throw new Error(message)
}
