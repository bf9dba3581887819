import type { TransportFrame } from '@bowline/client'
import type { LoggedEvent } from '@bowline/sessions'
import { encodeJson } from '../json.ts'

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
export function eventFrame({ cursor, ...data }: LoggedEvent): Uint8Array {
  return frameBytes(cursor, data)
}

/** Frames of the transport are not in the log: their id repeats the last cursor, if there was any. */
export function transportFrame(cursor: string | undefined, frame: TransportFrame): Uint8Array {
  return frameBytes(cursor, frame)
}

function frameBytes(cursor: string | undefined, data: object): Uint8Array {
  const id = cursor === undefined ? '' : `id: ${cursor}\n`
  return encoder.encode(`${id}data: ${encodeJson(data)}\n\n`)
}
