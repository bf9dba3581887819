import { parseCursor } from '../../../src/contract/cursor.ts'
import type { MessagesOptions, RunHandle, RunResult, SessionInfo, StopReceipt } from '../../../src/commands/types.ts'
import type { LogEvents, LoggedEvent, LogIterator } from '../../../src/contract/log-events.ts'
import type { Page } from '../../../src/contract/paging.ts'
import type { RunsQuery } from '../../../src/contract/session-store.ts'
import type { RuntimeCall } from '../../../../testing/src/around-runtime.ts'
import { eventFacts } from './batch-facts.ts'
import type { HistoryAnswer, HistoryCall } from './operations.ts'
import type { Recording } from './recording.ts'

/** A method of a session or of a run, as it is recorded. */
interface RecordedMethod {
  readonly call: HistoryCall
  readonly answerOf: (answer: never) => HistoryAnswer
}

/** Records a call of a client around `go`. */
export function recordClientCall(recording: Recording, namespace: string, called: RuntimeCall, go: () => unknown): unknown {
  const key = keyOf(called.target)
  if (key === undefined) return go()
  if (called.name === 'events') return watchedEvents(go() as LogEvents, readerOf(recording, namespace, key, called))
  if (called.name === Symbol.asyncIterator) return watchedIterator(go() as LogIterator, readerOf(recording, namespace, key, called))
  const method = methodOf(key, called)
  if (!method) return go()
  return recording.around(namespace, method.call, go as () => Promise<unknown>, method.answerOf as (answer: unknown) => HistoryAnswer)
}

/** Returns the key of the session, or of the session of the run. */
function keyOf(target: object): string | undefined {
  if ('key' in target) return target.key as string
  return 'session' in target ? (target as RunHandle).session.key : undefined
}

function methodOf(key: string, { target, name, args }: RuntimeCall): RecordedMethod | undefined {
  const isSession = 'key' in target
  switch (name) {
    case 'send':
    case 'steer':
    case 'followUp': {
      const { id } = (args[1] ?? {}) as { readonly id?: string }
      return {
        call: { what: 'send', key, ...(id !== undefined && { inputId: id }) },
        answerOf: ({ runId, accepted }: RunHandle) => ({ runId, accepted }),
      }
    }
    case 'stop':
    case 'kill':
      return { call: { what: 'stop', key }, answerOf: ({ runId, state }: StopReceipt) => ({ runId, state }) }
    case 'result':
      return isSession
        ? undefined
        : { call: { what: 'result', key, runId: (target as RunHandle).runId }, answerOf: ({ status }: RunResult) => ({ status }) }
    case 'info':
      return { call: { what: 'info', key }, answerOf: infoFacts }
    case 'messages':
      return isWholePath(args[0] as MessagesOptions | undefined) ? { call: { what: 'messages', key }, answerOf: messagesFacts } : undefined
    case 'runs': {
      const { status, page } = (args[0] ?? {}) as RunsQuery
      return {
        call: { what: 'runs', key, ...(status && { status }) },
        answerOf: ({ items, next }: Page<{ readonly runId: string; readonly status: never }>) => ({
          runs: items.map(({ runId, status: word }) => ({ id: runId, status: word })),
          isWhole: page === undefined && next === undefined,
        }),
      }
    }
    default:
      return undefined
  }
}

function isWholePath({ leaf, before }: MessagesOptions = {}): boolean {
  return leaf === undefined && before === undefined
}

function infoFacts(info: SessionInfo | null): HistoryAnswer {
  return { session: info && { version: info.version, leaf: info.leaf, lastSeq: parseCursor(info.cursor).seq } }
}

function messagesFacts({ items, next, cursor }: Page<{ readonly id: string }> & { readonly cursor: string }): HistoryAnswer {
  return { ids: items.map(({ id }) => id), lastSeq: parseCursor(cursor).seq, isWhole: next === undefined }
}

interface Reader {
  readonly onEvent: (event: LoggedEvent) => void
  /** Records a read up to the present end of the log. */
  readonly toEnd?: (reading: Promise<number | null>) => void
  readonly from: number | null
}

function readerOf(recording: Recording, namespace: string, key: string, { target, args }: RuntimeCall): Reader {
  const options =
    typeof args[0] === 'string'
      ? { cursor: args[0] }
      : ((args[0] ?? {}) as { readonly cursor?: string; readonly live?: unknown; readonly runId?: string })
  const isWhole = 'key' in target && options.live === false && options.runId === undefined
  return {
    onEvent(event) {
      if ('seq' in event && typeof event.seq === 'number')
        recording.note(namespace, { what: 'event', key }, { seq: event.seq, ...eventFacts(event) })
    },
    from: options.cursor === undefined ? null : parseCursor(options.cursor).seq,
    ...(isWhole && {
      // A read that fails, or that its reader stops early, says nothing about the end.
      toEnd: (reading: Promise<number | null>) =>
        void recording
          .around(
            namespace,
            { what: 'events', key },
            () => reading,
            (lastSeq) => ({ lastSeq }),
          )
          .catch(() => undefined),
    }),
  }
}

function watchedEvents(events: LogEvents, reader: Reader): LogEvents {
  return { [Symbol.asyncIterator]: () => watchedIterator(events[Symbol.asyncIterator](), reader) }
}

function watchedIterator(iterator: LogIterator, { onEvent, toEnd, from }: Reader): LogIterator {
  let lastSeq = from
  let end: PromiseWithResolvers<number | null> | undefined
  const see = (event: LoggedEvent | undefined): void => {
    if (!event) return
    if ('seq' in event && typeof event.seq === 'number') lastSeq = event.seq
    onEvent(event)
  }
  const watched: LogIterator = {
    [Symbol.asyncIterator]: () => watched,
    async next() {
      if (toEnd && !end) toEnd((end = Promise.withResolvers<number | null>()).promise)
      const result = await iterator.next()
      if (result.done) end?.resolve(lastSeq)
      else see(result.value)
      return result
    },
    take() {
      const event = iterator.take()
      see(event)
      return event
    },
    ...(iterator.return && { return: (value?: unknown) => iterator.return?.(value) as Promise<IteratorResult<LoggedEvent>> }),
  }
  return watched
}
