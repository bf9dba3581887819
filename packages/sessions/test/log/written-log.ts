import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent, SessionStore, StoreOpenOptions } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { LiveLog } from '../../src/log/live-log.ts'
import { readLog, type LogReading } from '../../src/log/read-log.ts'
import type { Write } from '../../src/contract/batch.ts'
import type { StoredEvent } from '../../src/contract/records.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'

export const key = 'room:1'

/** Creates an event of a run in its first turn, unless `more` says otherwise. */
export function event(type: string, more: object = {}): object {
  return { type, at: 1, runId: 'r1', turn: 1, ...(type === 'message-end' && { message: { content: [] } }), ...more }
}

/** Returns the numbers of the event and the delta, if any, without the characters that were read. */
export function placeIn(cursor = ''): string {
  const [seq = '', n = '0'] = cursor.split('.')
  return n === '0' ? seq : `${seq}.${n}`
}

/** A reader that takes every event. */
export interface Follower {
  /** Numbers of the events and deltas. */
  readonly cursors: readonly string[]
  readonly types: readonly string[]
  readonly deltas: readonly string[]
  readonly last: LoggedEvent | undefined
  /** End of the reading. Undefined while it continues. */
  readonly over: 'done' | { readonly code: string } | undefined
}

/**
 * Creates a log that the test writes: as another process, which only stores events, or as this one, which also notifies its
 * readers.
 */
export async function writtenLog() {
  const clock = manualClock(1000)
  const memory = memoryStore()
  await memory.open({ namespace: 'test', clock, owner: 'here' } satisfies StoreOpenOptions)
  const live = new LiveLog()
  const letGo = live.hold(key)
  let [batches, sessions] = [0, 0]
  const limits: number[] = []
  const during: (() => unknown)[] = []
  const store: SessionStore = aroundStore(memory, async (operation, args, go) => {
    const answer = await go()
    if (operation === 'readEvents') {
      limits.push(args[2] as number)
      await during.shift()?.()
    }
    return answer
  })
  async function commit(...writes: readonly Write[]): Promise<number> {
    const result = await memory.commit({ id: `b${++batches}`, key, expect: [], writes })
    if (!result.ok) throw new Error(`The store refuses: ${result.reason}.`)
    return result.firstSeq
  }
  /** Stores events without notifying the readers of this process. */
  async function write(...events: readonly object[]): Promise<readonly StoredEvent[]> {
    const firstSeq = await commit({ op: 'event.append', events: events.map((each) => ({ event: each as never })) })
    return events.map((each, index) => ({ ...each, seq: firstSeq + index }) as StoredEvent)
  }
  const log = {
    clock,
    live,
    commit,
    write,
    /** The limit of each read of the store. */
    limits,
    create: () => commit({ op: 'session.ensure', session: { id: `s${++sessions}`, agent: 'assistant', metadata: {}, at: 1 } }),
    /** Stores and publishes events like the active run of this process. */
    publish: async (...events: readonly object[]) => live.publish(key, await write(...events), true),
    /** Stores and publishes events like a caller in this process. */
    publishOther: async (...events: readonly object[]) => live.publish(key, await write(...events), false),
    say: (text: string, more: object = {}) =>
      live.session(key).publishDelta(event('text-delta', { step: 1, messageId: 'm', index: 0, delta: text, ...more }) as never),
    /** Ends the active run of this process. From then on, only readers keep its deltas. */
    endRun: () => {
      live.endRun(key, 'r1')
      letGo()
    },
    /** Work for the next reads of the store, done when they have their answer. */
    duringReads: (...work: readonly (() => unknown)[]) => void during.push(...work),
    /** Lets everything happen that needs no time. */
    settle: () => clock.advance(0),
    reading: (options: Partial<LogReading> = {}): LogReading => ({
      store,
      liveLog: live,
      clock,
      key,
      live: true,
      from: () => ({ seq: 0, n: 0 }),
      isResting: () => Promise.resolve(false),
      ...options,
    }),
    follow: (options: Partial<LogReading> = {}): Follower => follow(log.reading(options)),
  }
  await log.create()
  return log
}

function follow(reading: LogReading): Follower {
  const seen: LoggedEvent[] = []
  const follower: Follower & { over: Follower['over'] } = {
    over: undefined,
    get cursors() {
      return seen.map(({ cursor }) => placeIn(cursor))
    },
    get deltas() {
      return seen.flatMap((event) => (event.type === 'text-delta' ? event.delta : []))
    },
    get types() {
      return seen.map(({ type }) => type)
    },
    get last() {
      return seen.at(-1)
    },
  }
  const read = async (): Promise<void> => {
    for await (const each of readLog(reading)) seen.push(each)
  }
  read().then(
    () => (follower.over = 'done'),
    (error: { readonly code: string }) => (follower.over = error),
  )
  return follower
}
