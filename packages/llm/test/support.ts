import {
  streamMessage,
  type AssistantMessage,
  type LanguageModelV4,
  type LanguageModelV4StreamPart,
  type MessageEvent,
  type MessageStream,
  type ModelRequest,
} from '../src/index.ts'
import { manualClock, scriptedModel, type Action, type ManualClock, type Step } from '../src/testing/index.ts'

export const hello = [{ role: 'user', content: 'Hello' }] as const

export const finish = (
  unified: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['finishReason']['unified'] = 'stop',
  raw?: string,
): LanguageModelV4StreamPart => ({ type: 'finish', finishReason: { unified, raw }, usage: usageOf(10, 5) })

export function usageOf(input?: number, output?: number): Extract<LanguageModelV4StreamPart, { type: 'finish' }>['usage'] {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  }
}

export const text = (value: string, id = 't'): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: value },
  { type: 'text-end', id },
]

export async function drain<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

export const readAll = (stream: AsyncIterable<MessageEvent>): Promise<MessageEvent[]> => drain(stream)

export function messageOf(events: readonly MessageEvent[]): AssistantMessage {
  const last = events.at(-1)
  if (last?.type !== 'message-end') throw new Error(`the last event is ${last?.type}`)
  return last.message
}

export interface Call {
  readonly model: LanguageModelV4
  readonly clock: ManualClock
  readonly stream: MessageStream
}

/** Calls a model that follows one step, with a manual clock. */
export function call(step: Step, request: Partial<ModelRequest> = {}): Call {
  const clock = manualClock(1_000)
  const model = scriptedModel([step], { clock })
  return { model, clock, stream: streamMessage({ model, messages: hello, clock, messageId: 'msg_1', ...request }) }
}

/** Returns the events of a call whose stream has exactly these parts. */
export async function eventsOf(
  parts: readonly (LanguageModelV4StreamPart | Action)[],
  request: Partial<ModelRequest> = {},
): Promise<MessageEvent[]> {
  return readAll(call({ parts, finish: false }, request).stream)
}

export async function resultOf(
  parts: readonly (LanguageModelV4StreamPart | Action)[],
  request: Partial<ModelRequest> = {},
): Promise<AssistantMessage> {
  return call({ parts, finish: false }, request).stream.result()
}

/** Waits until everything that needs no timer has happened. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Creates a model with a hand-made stream, to observe how it is used. */
export function rawModel(doStream: LanguageModelV4['doStream'], provider = 'raw'): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider,
    modelId: 'raw-model',
    supportedUrls: {},
    doStream,
    doGenerate: () => Promise.reject(new Error('not used')),
  }
}

/** Returns a function that returns the processor time of this process since then, in ms. Other processes do not affect it. */
export function startProcessorTime(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
}
