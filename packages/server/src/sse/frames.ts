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

/** Leaves with the headers: how long to wait before coming back, and something to read. */
export const openingBytes = encoder.encode('retry: 2000\n: open\n\n')
export const heartbeatBytes = encoder.encode(': hb\n\n')

/** The cursor is the id, and no part of the data. */
export function eventFrame({ cursor, ...data }: LoggedEvent, redaction: Redaction): Uint8Array {
  return frameBytes(cursor, withoutSecrets(data, redaction))
}

/** A delta of a block that the stream has named. */
export function shortFrame({ cursor, index, delta }: TextDelta): Uint8Array {
  return textFrame(cursor, encodeJson([index, delta] satisfies ShortDelta))
}

/** Frames of the transport are not in the log: their id repeats the last cursor, if there was any. */
export function transportFrame(cursor: string | undefined, frame: TransportFrame, redaction: Redaction): Uint8Array {
  return frameBytes(cursor, withoutSecrets(frame, redaction))
}

/** Takes secrets out of what tells of a failure: the message of a provider or a tool may repeat a key that it was given. */
export function withoutSecrets<Data extends object>(data: Data, redaction: Redaction): Data {
  const { type, error, message } = data as { readonly type?: unknown; readonly error?: unknown; readonly message?: unknown }
  if (type === 'error' && typeof message === 'string') return { ...data, message: redaction.text(message) }
  if (type === 'tool-execution-end' && isFailure(message)) return { ...data, message: { ...message, output: redaction.value(message.output) } }
  return error === undefined ? data : { ...data, error: redaction.value(error) }
}

function isFailure(message: unknown): message is { readonly status: 'error'; readonly output: unknown } {
  return typeof message === 'object' && message !== null && (message as { readonly status?: unknown }).status === 'error'
}

/** `data` must be one line. */
export function textFrame(cursor: string | undefined, data: string): Uint8Array {
  const id = cursor === undefined ? '' : `id: ${cursor}\n`
  return encoder.encode(`${id}data: ${data}\n\n`)
}

function frameBytes(cursor: string | undefined, data: object): Uint8Array {
  return textFrame(cursor, encodeJson(data))
}
