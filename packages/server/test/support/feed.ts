import type { ExecuteComplete, StreamEnd } from '@bowline/client'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import type { LogEvents, LoggedEvent, LogIterator } from '@bowline/sessions'
import { EventStream, type EventStreamOptions } from '../../src/sse/event-stream.ts'
import { SharedFrames } from '../../src/sse/shared-frames.ts'

export const end: StreamEnd = { type: 'stream-end', reason: 'settled', resume: false }
export const problem = { type: 'stream-error', problem: { code: 'internal' } } as never

/** Log that the test writes. */
export function feed() {
  const waiting: LoggedEvent[] = []
  let wake = (): void => undefined
  let over: { readonly error?: unknown } | undefined
  let signal: AbortSignal | undefined
  async function* read(abortSignal: AbortSignal): AsyncGenerator<LoggedEvent, void, undefined> {
    signal = abortSignal
    abortSignal.addEventListener('abort', () => wake())
    while (!abortSignal.aborted) {
      const event = waiting.shift()
      if (event) yield event
      else if (over) {
        if ('error' in over) throw over.error
        return
      } else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return {
    push(...events: readonly object[]) {
      waiting.push(...(events as readonly LoggedEvent[]))
      wake()
    },
    finish(error?: unknown) {
      over = error === undefined ? {} : { error }
      wake()
    },
    get waiting() {
      return waiting.length
    },
    get aborted() {
      return signal?.aborted
    },
    open(abortSignal: AbortSignal): LogEvents {
      const events = read(abortSignal)
      const iterator: LogIterator = {
        [Symbol.asyncIterator]: () => iterator,
        next: () => events.next(),
        return: () => events.return(),
        take: () => waiting.shift(),
      }
      return iterator
    },
  }
}

export function make(source: ReturnType<typeof feed>, clock: ManualClock = manualClock(), options: Partial<EventStreamOptions> = {}) {
  const stream = new EventStream({
    log: 'tenant:acme:s:mine',
    shared: new SharedFrames(),
    open: (signal) => source.open(signal),
    complete: (): Promise<ExecuteComplete | StreamEnd> => Promise.resolve(end),
    toFrame: () => problem,
    clock,
    heartbeatMs: 15_000,
    slowReaderMs: 10_000,
    ...options,
  })
  return { stream, clock, reader: stream.body.getReader() }
}

const decoder = new TextDecoder()

export const text = ({ value }: { value?: Uint8Array | undefined }): string => decoder.decode(value)
export const event = (cursor: string, more: object = {}) => ({ type: 'save-point', cursor, ...more })
