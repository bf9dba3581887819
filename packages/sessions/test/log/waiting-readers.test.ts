import type { Clock } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { LiveLog } from '../../src/log/live-log.ts'
import { readLog, type LogReading } from '../../src/log/read-log.ts'

/** Attaches a reader to the end of a log. Resolves with true if it keeps the process alive while it waits. */
async function holds(types: readonly string[]): Promise<boolean> {
  const ofSession = ['session-start', 'run-queued', 'branch-switched', 'settled']
  const events = types.map(
    (type, index) => ({ type, at: 1, runId: 'r1', ...(!ofSession.includes(type) && { turn: 1 }), seq: index + 1 }) as LoggedEvent,
  )
  const readEvents = (_key: string, after: number, limit: number) =>
    Promise.resolve({ sessionId: 's1', firstSeq: 1, lastSeq: types.length, events: events.slice(after, after + limit) })
  const leaving = new AbortController()
  const waits = Promise.withResolvers<boolean>()
  const clock: Clock = {
    now: () => 1,
    setTimer(_at, _fire, options) {
      if (options?.hold) waits.resolve(true)
      // The poll timer comes before the wait. If there is no second timer, nothing keeps the process alive.
      else setImmediate(() => waits.resolve(false))
      return () => undefined
    },
  }
  const store = { readEvents, capabilities: { processes: 'one' } }
  const from = () => ({ seq: types.length, n: 0 })
  const reading = {
    store,
    liveLog: new LiveLog(),
    clock,
    key: 'room:1',
    from,
    live: true,
    isResting: () => Promise.resolve(false),
    abortSignal: leaving.signal,
  }
  const next = readLog(reading as unknown as LogReading).next()
  const held = await waits.promise
  leaving.abort()
  await next
  return held
}

it.each([
  [true, ['turn-start', 'message-start']],
  [true, ['turn-start', 'message-start', 'child-update', 'child-end']],
  [true, ['session-start', 'run-queued']],
  [true, ['turn-start', 'branch-switched', 'child-update']],
  [false, ['session-start']],
  [false, ['session-start', 'branch-switched']],
  [false, ['branch-switched']],
  [false, []],
  [false, ['turn-start', 'save-point', 'settled']],
  [false, ['turn-start', 'save-point', 'settled', 'child-update', 'child-end']],
])(
  'S147: a reader at the end of a log holds its process only while a run is open, whatever subagents log: %s after %s',
  async (expected, types) => {
    expect(await holds(types)).toBe(expected)
  },
)

it.each([true, false])(
  'S103: a reader whose store was closed ends without an error only if it was aborted before: %s',
  async (isAborted) => {
    const leaving = new AbortController()
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    const store = { readEvents: () => (asked.resolve(), answer.promise), capabilities: { processes: 'one' } }
    const clock: Clock = { now: () => 1, setTimer: () => () => undefined }
    const reading = {
      store,
      liveLog: new LiveLog(),
      clock,
      key: 'room:1',
      from: () => ({ seq: 0, n: 0 }),
      live: true,
      isResting: () => Promise.resolve(false),
      abortSignal: leaving.signal,
    }
    const next = readLog(reading as unknown as LogReading).next()
    await asked.promise
    if (isAborted) leaving.abort()
    answer.reject(new Error('closed'))
    if (isAborted) expect(await next).toEqual({ done: true, value: undefined })
    else await expect(next).rejects.toThrow('closed')
  },
)
