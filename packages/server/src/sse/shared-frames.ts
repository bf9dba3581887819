import type { TransportFrame } from '@bowline/client'
import { createRedaction, type Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { eventFrame, shortFrame, transportFrame } from './frames.ts'
import { joinDeltas, type TextDelta } from './join-deltas.ts'

type DeltaForm = 'long' | 'short'

const maxStoredBytes = 4 * 1024 * 1024
/** Maximum size of a cached frame. A larger one is only shared while a reader holds it. */
const maxKeptBytes = 64 * 1024

/**
 * Frames of this process, encoded once per event for all readers. A live event is one object for all readers. An event read from
 * the store is a new object each time, so it is found by its position in the log.
 */
export class SharedFrames {
  readonly #ofEvent = new WeakMap<LoggedEvent, Map<string, Uint8Array>>()
  /** Joined frames by their last delta: readers that read at the same time usually have the same deltas before it. */
  readonly #joined: Readonly<Record<DeltaForm, WeakMap<LoggedEvent, { readonly first: LoggedEvent; readonly frame: Uint8Array }>>> = {
    long: new WeakMap(),
    short: new WeakMap(),
  }
  readonly #stored = new Map<string, Uint8Array>()
  #storedBytes = 0
  readonly #large = new Map<string, WeakRef<Uint8Array>>()
  readonly #released = new FinalizationRegistry<string>((place) => {
    // The key may meanwhile refer to another frame.
    if (this.#large.get(place)?.deref() === undefined) this.#large.delete(place)
  })
  readonly #redaction: Redaction

  constructor(redaction = createRedaction()) {
    this.#redaction = redaction
  }

  /** Encodes a frame of the transport. It ends one stream and is not shared. */
  lastFrame(cursor: string | undefined, frame: TransportFrame): Uint8Array {
    return transportFrame(cursor, frame, this.#redaction)
  }

  /** `log` is the key of the session. */
  frame(log: string, event: LoggedEvent): Uint8Array {
    return this.named(log, event, '', () => eventFrame(event, this.#redaction))
  }

  /**
   * Returns the frame of that name. If a form makes several frames of one event, the name must determine the result of `encode`.
   */
  named(log: string, event: LoggedEvent, name: string, encode: () => Uint8Array): Uint8Array {
    const frames = this.#ofEvent.get(event) ?? new Map<string, Uint8Array>()
    const existing = frames.get(name)
    if (existing) return existing
    const isStored = 'seq' in event && event.seq !== undefined
    const frame = isStored ? this.#storedFrame(`${log}\n${event.cursor}\n${event.at}\n${name}`, encode) : encode()
    this.#ofEvent.set(event, frames.set(name, frame))
    return frame
  }

  /** Encodes consecutive deltas of one part as one frame with the cursor of the last. */
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

  /**
   * Returns the frame of a stored event. `place` includes the time of the event: after a session was deleted completely, numbers
   * start again.
   */
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
