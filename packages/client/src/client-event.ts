import { isFields } from '@bowline/llm/arguments'
import { isDelta, isDurable } from '@bowline/agent-loop/events'
import type { AgentEvent } from '@bowline/agent-loop/events'
import { ClientError } from './client-error.ts'
import type { SseFrame } from './sse-parser.ts'
import type { JsonObject, TransportFrame } from './wire.ts'
import type { SessionView } from './wire-sessions.ts'

/** What a reader gets: the events of the log, and two kinds that only a client knows. */
export type ClientEvent = AgentEvent | UnknownEvent | ResyncNotice

/** An event of a newer server, as it came. It folds as nothing. */
export interface UnknownEvent {
  readonly type: 'unknown'
  readonly event: JsonObject
}

/** The log no longer holds the reader's position: `state` replaces what was folded, and its cursor is where reading goes on. */
export interface ResyncNotice {
  readonly type: 'resync'
  readonly state: SessionView
}

const transportTypes: Readonly<Record<TransportFrame['type'], true>> = {
  'execute-complete': true,
  'stream-end': true,
  'stream-error': true,
}

export function isTransport(frame: { readonly type: string }): frame is TransportFrame {
  return Object.hasOwn(transportTypes, frame.type)
}

export function decodeFrame({ data }: SseFrame): AgentEvent | UnknownEvent | TransportFrame {
  const value = parse(data)
  if (isTransport(value) || isDelta(value) || isDurable(value)) return value
  return { type: 'unknown', event: value }
}

function parse(data: string): JsonObject & { readonly type: string } {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new ClientError('invalid-answer', 'The stream holds a frame that is not JSON.', { cause })
  }
  if (isFields(value) && typeof value['type'] === 'string') {
    return value as JsonObject & { readonly type: string }
  }
  throw new ClientError('invalid-answer', 'The stream holds a frame without a type.')
}
