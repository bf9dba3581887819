import { isFields } from '@bowline/llm/arguments'
import { isDelta, isDurable } from '@bowline/agent-loop/events'
import type { AgentEvent } from '@bowline/agent-loop/events'
import { ClientError } from './client-error.ts'
import type { SseFrame } from './sse-parser.ts'
import type { JsonObject, TransportFrame } from './wire.ts'
import type { SessionView } from './wire-sessions.ts'

/** Event that a reader gets: one of the log, or one of two kinds that exist only in clients. */
export type ClientEvent = AgentEvent | UnknownEvent | ResyncNotice

/** Unchanged event of a newer server. A fold ignores it. */
export interface UnknownEvent {
  readonly type: 'unknown'
  readonly event: JsonObject
}

/**
 * Notice that the log no longer holds the position of the reader. `state` replaces the fold, and reading continues at its cursor.
 */
export interface ResyncNotice {
  readonly type: 'resync'
  readonly state: SessionView
}

const transportTypes: readonly string[] = ['execute-complete', 'stream-end', 'stream-error'] satisfies readonly TransportFrame['type'][]

export function isTransport(frame: { readonly type: string }): frame is TransportFrame {
  return transportTypes.includes(frame.type)
}

type Fields = Readonly<Record<string, unknown>>

/** Returns the decoder of the frames of one connection. It expands short deltas to full events. */
export function frameDecoder(): (frame: SseFrame) => AgentEvent | UnknownEvent | TransportFrame {
  /** Newest event of each block, as a delta, by block index. */
  const blocks = new Map<unknown, Fields>()
  return ({ data }) => {
    const parsed = parse(data)
    const value = Array.isArray(parsed) ? { ...blocks.get(parsed[0]), delta: parsed[1] as unknown } : parsed
    if (!isFields(value) || typeof value['type'] !== 'string') throw noEvent()
    if (isDelta(value) && 'index' in value) blocks.set(value.index, { ...value, type: value.type.replace(/start|end/, 'delta') })
    const event = value as JsonObject & { readonly type: string }
    return isTransport(event) || isDelta(event) || isDurable(event) ? event : { type: 'unknown', event }
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw noEvent(cause)
  }
}

function noEvent(cause?: unknown): ClientError {
  return new ClientError('invalid-answer', 'The answer has a frame that is not an event. Check baseUrl.', { cause })
}
