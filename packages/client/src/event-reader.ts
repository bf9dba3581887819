import { isReadingAborted } from './client-error.ts'
import type { ClientEvent } from './client-event.ts'
import { isTransport } from './client-event.ts'
import { follow, type FollowOptions } from './event-stream.ts'

export interface EventReaderOptions extends Omit<FollowOptions, 'signal'> {
  readonly abortSignal: AbortSignal | undefined
}

/** Events of a session from a position on. Each iteration resumes where the previous one stopped. */
export class EventReader implements AsyncIterable<ClientEvent> {
  /** Position after the last event that was returned. */
  cursor: string | undefined
  readonly #options: EventReaderOptions

  constructor(options: EventReaderOptions) {
    this.#options = options
    this.cursor = options.cursor
  }

  [Symbol.asyncIterator](): AsyncIterator<ClientEvent, undefined, undefined> {
    const leaving = new AbortController()
    const { abortSignal } = this.#options
    const events = this.#read(abortSignal ? AbortSignal.any([abortSignal, leaving.signal]) : leaving.signal)
    return {
      next: () => events.next(),
      // A waiting generator cannot return: the abort wakes it first.
      return: async () => {
        leaving.abort()
        await events.return(undefined)
        return { done: true, value: undefined }
      },
    }
  }

  async *#read(signal: AbortSignal): AsyncGenerator<ClientEvent, undefined, undefined> {
    try {
      for await (const { frame, cursor } of follow({ ...this.#options, cursor: this.cursor, signal })) {
        this.cursor = cursor
        if (!isTransport(frame)) yield frame
      }
    } catch (error) {
      if (!isReadingAborted(error)) throw error
    }
    return undefined
  }
}
