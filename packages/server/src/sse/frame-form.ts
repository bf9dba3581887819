import type { TransportFrame } from '@bowline/client'
import type { LoggedEvent } from '@bowline/sessions'
import type { TextDelta } from './join-deltas.ts'
import type { SharedFrames } from './shared-frames.ts'

export type Frames = readonly Uint8Array[]

/** What a stream is on the wire. A form may remember what it has said: it belongs to one stream. */
export interface FrameForm {
  event(event: LoggedEvent): Frames
  /** Consecutive deltas of one part. */
  deltas(deltas: readonly [TextDelta, ...TextDelta[]]): Frames
  /** How the stream ends. Without a frame it is cut: its reader is to come back. */
  last(frame: TransportFrame, cursor: string | undefined): Frames
}

/** The log as it is: one frame for each event, and a last one that says why there are no more. */
export function logForm(shared: SharedFrames, log: string): FrameForm {
  return {
    event: (event) => [shared.frame(log, event)],
    deltas: (deltas) => [shared.joinedFrame(log, deltas)],
    last: (frame, cursor) => [shared.lastFrame(cursor, frame)],
  }
}
