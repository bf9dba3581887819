import type { AgentEvent } from '@bowline/agent-loop'
import type { ExecuteComplete, StreamEnd, StreamError } from '@bowline/client'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { expect } from 'vitest'

export interface Frame {
  readonly id: string | undefined
  readonly data: AgentEvent | ExecuteComplete | StreamEnd | StreamError
}

/** Yields the frames of a body as an independent parser reads them. Throws if the body was cut. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, undefined> {
  const parsed: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => parsed.push(message) })
  const decoder = new TextDecoder()
  if (!response.body) throw new Error('The answer has no body.')
  for await (const chunk of response.body) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
    for (const message of parsed.splice(0)) {
      yield { id: message.id, data: JSON.parse(message.data) as Frame['data'] }
    }
  }
}

/** Returns all frames. `see` is called with each as it arrives. */
export async function allFrames(response: Response, see: (frame: Frame) => void = () => undefined): Promise<Frame[]> {
  expect(response.status).toBe(200)
  const frames: Frame[] = []
  for await (const frame of framesOf(response)) {
    frames.push(frame)
    see(frame)
  }
  return frames
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of source) all.push(each)
  return all
}

/** Reads until a frame matches, then stops. */
export async function framesUntil(response: Response, isLast: (frame: Frame) => boolean): Promise<Frame[]> {
  const frames: Frame[] = []
  for await (const frame of framesOf(response)) {
    frames.push(frame)
    if (isLast(frame)) return frames
  }
  throw new Error(`The stream ended after ${frames.map((frame) => frame.data.type).join(', ')}.`)
}

export function typesOf(frames: readonly Frame[]): string[] {
  return frames.map((frame) => frame.data.type)
}

export function eventsOf(frames: readonly Frame[]): AgentEvent[] {
  const transport = ['execute-complete', 'stream-end', 'stream-error']
  return frames.map((frame) => frame.data).filter((data): data is AgentEvent => !transport.includes(data.type))
}

export function completion(frames: readonly Frame[]): ExecuteComplete {
  const last = frames.at(-1)?.data
  if (last?.type !== 'execute-complete') throw new Error(`The last frame is ${last?.type}.`)
  return last
}
