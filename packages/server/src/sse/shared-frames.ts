import type { TransportFrame } from '@bowline/client'
import { createRedaction, type Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { eventFrame, shortFrame, transportFrame } from './frames.ts'
import { joinDeltas, type TextDelta } from './join-deltas.ts'

type DeltaForm = 'long' | 'short'

const maxStoredBytes = 4 * 1024 * 1024
/** A larger frame is not kept for readers to come, only as long as a reader holds it. */
const maxKeptBytes = 64 * 1024

/**
 * The frames of this process: made once for an event, whoever reads it. What is happening now is one object for all
 * readers; what was read from the store is another one each time, and known by its place in the log.
 */
export class SharedFrames {
  readonly #ofEvent = new WeakMap<LoggedEvent, Map<string, Uint8Array>>()
  /** By the last delta: readers that take at the same time have most often the same ones before them. */
  readonly #joined: Readonly<Record<DeltaForm, WeakMap<LoggedEvent, { readonly first: LoggedEvent; readonly frame: Uint8Array }>>> = {
    long: new WeakMap(),
    short: new WeakMap(),
  }
  readonly #stored = new Map<string, Uint8Array>()
  #storedBytes = 0
  readonly #large = new Map<string, WeakRef<Uint8Array>>()
  readonly #released = new FinalizationRegistry<string>((place) => {
    // The place may hold another frame by now.
    if (this.#large.get(place)?.deref() === undefined) this.#large.delete(place)
  })
  readonly #redaction: Redaction

  constructor(redaction = createRedaction()) {
    this.#redaction = redaction
  }

  /** Frames of the transport end one stream, and are its own. */
  lastFrame(cursor: string | undefined, frame: TransportFrame): Uint8Array {
    return transportFrame(cursor, frame, this.#redaction)
  }

  /** `log` is the key of the session. */
  frame(log: string, event: LoggedEvent): Uint8Array {
    return this.named(log, event, '', () => eventFrame(event, this.#redaction))
  }

  /** A form that makes several frames of one event names each. The name must determine what `encode` returns. */
  named(log: string, event: LoggedEvent, name: string, encode: () => Uint8Array): Uint8Array {
    const frames = this.#ofEvent.get(event) ?? new Map<string, Uint8Array>()
    const existing = frames.get(name)
    if (existing) return existing
    const isStored = 'seq' in event && event.seq !== undefined
    const frame = isStored ? this.#storedFrame(`${log}\n${event.cursor}\n${event.at}\n${name}`, encode) : encode()
    this.#ofEvent.set(event, frames.set(name, frame))
    return frame
  }

  /** Consecutive deltas of one part, as one frame with the cursor of the last. */
  joinedFrame(log: string, deltas: readonly [TextDelta, ...TextDelta[]], form: DeltaForm = 'long'): Uint8Array {
    const [first] = deltas
    const last = deltas.at(-1) ?? first
    const encode = (delta: TextDelta): Uint8Array => (form === 'short' ? shortFrame(delta) : eventFrame(delta, this.#redaction))
    if (last === first) return this.named(log, first, form === 'short' ? 'short' : '', () => encode(first))
    const existing = this.#joined[form].get(last)
    if (existing?.first === first) return existing.frame
    const frame = encode(joinDeltas(deltas))
    this.#joined[form].set(last, { first, frame })
    return frame
  }

  /** `place` has the time of the event: numbers begin anew when nothing is left of a deleted session. */
  #storedFrame(place: string, encode: () => Uint8Array): Uint8Array {
    const existing = this.#stored.get(place) ?? this.#large.get(place)?.deref()
    if (existing) return existing
    const frame = encode()
    if (frame.length > maxKeptBytes) {
      this.#large.set(place, new WeakRef(frame))
      this.#released.register(frame, place)
      return frame
    }
    this.#stored.set(place, frame)
    this.#storedBytes += place.length + frame.length
    for (const [oldest, { length }] of this.#stored) {
      if (this.#storedBytes <= maxStoredBytes) break
      this.#stored.delete(oldest)
      this.#storedBytes -= oldest.length + length
    }
    return frame
  }
}
