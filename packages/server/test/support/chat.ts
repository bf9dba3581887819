import { Chat } from '@ai-sdk/react'
import {
  asSchema,
  DefaultChatTransport,
  readUIMessageStream,
  uiMessageChunkSchema,
  type ChatInit,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { expect } from 'vitest'
import { createRedaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { ChatForm } from '../../src/chat/chat-form.ts'
import type { Frames } from '../../src/sse/frame-form.ts'
import { concatenate } from '../../src/sse/concatenate.ts'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import type { Bench } from './bench.ts'
import { collect } from './frames.ts'

export interface UiFrame {
  readonly id: string | undefined
  /** A text only for `[DONE]`. */
  readonly data: UIMessageChunk | string
}

/** Opens a chat of the AI SDK with a server. */
export function openChat({ url }: Pick<Bench, 'url'>, init: Partial<ChatInit<UIMessage>> = {}): Chat<UIMessage> {
  return new Chat<UIMessage>({ id: 'mine', transport: new DefaultChatTransport({ api: `${url}/api/chat` }), ...init })
}

/** Returns the request body of the page's transport. */
export function chatBody(messages: readonly object[], rest: object = {}): object {
  return { id: 'mine', messages, trigger: 'submit-message', ...rest }
}

/** Sends a request like a program that reads the problem of a refusal. */
export function postChat({ post }: Pick<Bench, 'post'>, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return post('/api/chat', body, { accept: 'application/problem+json', ...headers })
}

export function userMessage(id: string, text: string): object {
  return { id, role: 'user', parts: [{ type: 'text', text }] }
}

/** Yields the frames of a UI message stream, each chunk validated with the schema of the AI SDK. Throws if the body was cut. */
export async function* uiFrames(response: Response): AsyncGenerator<UiFrame, void, undefined> {
  const parsed: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => parsed.push(message) })
  const decoder = new TextDecoder()
  if (!response.body) throw new Error('The answer has no body.')
  for await (const chunk of response.body) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
    for (const { id, data } of parsed.splice(0)) {
      yield { id, data: data === '[DONE]' ? data : await validChunk(data) }
    }
  }
}

const chunkSchema = asSchema(uiMessageChunkSchema)

async function validChunk(data: string): Promise<UIMessageChunk> {
  const result = (await chunkSchema.validate?.(JSON.parse(data))) ?? expect.fail('the schema of the AI SDK validates nothing')
  if (result.success) return result.value
  throw result.error
}

export async function allUiFrames(response: Response, see: (frame: UiFrame) => void = () => undefined): Promise<UiFrame[]> {
  expect(response.status).toBe(200)
  const frames: UiFrame[] = []
  for await (const frame of uiFrames(response)) {
    frames.push(frame)
    see(frame)
  }
  return frames
}

interface SentName {
  readonly sessionId: string
  readonly runId: string
  readonly knownUntil?: number
}

/** Returns the frames of a stream of these events of one turn, up to its last outcome. */
export function framesSent(events: readonly LoggedEvent[], name: SentName): Promise<UiFrame[]> {
  const end = events.findLast((event) => event.type === 'turn-end') ?? expect.fail('the turn has no end')
  return chunkFrames(events, name, (form) => form.last({ ...end, ...name, type: 'execute-complete' }, events.at(-1)?.cursor))
}

/** Returns the frames of only these events, and of the last frame. */
export function chunkFrames(
  events: readonly LoggedEvent[],
  name: SentName,
  last: (form: ChatForm) => Frames = () => [],
): Promise<UiFrame[]> {
  const form = new ChatForm({ shared: new SharedFrames(), log: 'log', ...name, redaction: createRedaction() })
  const frames = events.flatMap((event) => form.event(event))
  return collect(uiFrames(new Response(concatenate([...frames, ...last(form)]) as Uint8Array<ArrayBuffer>)))
}

export function chunksOf(frames: readonly UiFrame[]): UIMessageChunk[] {
  return frames.flatMap(({ data }) => (typeof data === 'string' ? [] : data))
}

export function chunkTypes(frames: readonly UiFrame[]): string[] {
  return frames.map(({ data }) => (typeof data === 'string' ? data : data.type))
}

/** Returns the message that the AI SDK builds from chunks. Throws if it refuses one. */
export async function messageOf(chunks: readonly UIMessageChunk[], message?: UIMessage): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) if (chunk.type !== 'error') controller.enqueue(structuredClone(chunk))
      controller.close()
    },
  })
  let last: UIMessage | undefined
  const states = readUIMessageStream<UIMessage>({ stream, terminateOnError: true, ...(message && { message: structuredClone(message) }) })
  for await (const state of states) last = state
  return last ?? expect.fail('there is no message')
}

export function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('')
}
