import type { ShortDelta, TransportFrame } from '@bowline/client'
import type { Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { encodeJson } from '../json.ts'
import type { TextDelta } from './join-deltas.ts'

const encoder = new TextEncoder()

export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'content-encoding': 'identity',
}

/** Sent with the headers: the delay before a reconnect, and a comment. */
export const openingBytes = encoder.encode('retry: 2000\n: open\n\n')
export const heartbeatBytes = encoder.encode(': hb\n\n')

/** Encodes an event. The cursor is the SSE id and not part of the data. */
export function eventFrame({ cursor, ...data }: LoggedEvent, redaction: Redaction): Uint8Array {
  return frameBytes(cursor, withoutSecrets(data, redaction))
}

/** Encodes a delta of a block that the stream has already named in a full event. */
export function shortFrame({ cursor, index, delta }: TextDelta): Uint8Array {
  return textFrame(cursor, encodeJson([index, delta] satisfies ShortDelta))
}

/** Encodes a frame of the transport. It is not in the log: its id repeats the last cursor, if there was one. */
export function transportFrame(cursor: string | undefined, frame: TransportFrame, redaction: Redaction): Uint8Array {
  return frameBytes(cursor, withoutSecrets(frame, redaction))
}

/** Removes secrets from errors: a message of a provider or tool may repeat a key. */
export function withoutSecrets<Data extends object>(data: Data, redaction: Redaction): Data {
  const { type, error, message } = data as { readonly type?: unknown; readonly error?: unknown; readonly message?: unknown }
  if (type === 'error' && typeof message === 'string') return { ...data, message: redaction.text(message) }
  if (type === 'tool-execution-end' && isFailure(message))
    return { ...data, message: { ...message, output: redaction.value(message.output) } }
  return error === undefined ? data : { ...data, error: redaction.value(error) }
}

function isFailure(message: unknown): message is { readonly status: 'error'; readonly output: unknown } {
  return typeof message === 'object' && message !== null && (message as { readonly status?: unknown }).status === 'error'
}

/** Encodes a frame. `data` must be one line. */
export function textFrame(cursor: string | undefined, data: string): Uint8Array {
  const id = cursor === undefined ? '' : `id: ${cursor}\n`
  return encoder.encode(`${id}data: ${data}\n\n`)
}

function frameBytes(cursor: string | undefined, data: object): Uint8Array {
  return textFrame(cursor, encodeJson(data))
}
