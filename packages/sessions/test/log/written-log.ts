import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent, SessionStore, StoreOpenOptions } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { LiveLog } from '../../src/log/live-log.ts'
import { readLog, type LogReading } from '../../src/log/read-log.ts'
import type { Write } from '../../src/contract/batch.ts'
import type { StoredEvent } from '../../src/contract/records.ts'
import { aroundStore } from '../../src/testing/around-store.ts'

export const key = 'room:1'

/** An event of a run in its first turn, or of whoever `more` says. */
export function event(type: string, more: object = {}): object {
  return { type, at: 1, runId: 'r1', turn: 1, ...more }
}

/** A reader that takes all that it is given. */
export interface Follower {
  readonly cursors: readonly string[]
  readonly types: readonly string[]
  readonly last: LoggedEvent | undefined
  /** How the reading has ended; undefined: it goes on. */
  readonly over: 'done' | { readonly code: string } | undefined
}

/** A log that the test writes, in the store as another process does, or as this one does, which tells its readers. */
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
  /** Stores events of which nobody tells the readers of this process. */
  async function write(...events: readonly object[]): Promise<readonly StoredEvent[]> {
    const firstSeq = await commit({ op: 'event.append', events: events.map((each) => ({ event: each as never })) })
    return events.map((each, index) => ({ ...each, seq: firstSeq + index }) as StoredEvent)
  }
  const log = {
    clock,
    live,
    commit,
    write,
    /** How many events each reading of the store asked for. */
    limits,
    create: () => commit({ op: 'session.ensure', session: { id: `s${++sessions}`, agent: 'assistant', metadata: {}, at: 1 } }),
    /** As the active run of this process does. */
    publish: async (...events: readonly object[]) => live.publish(key, await write(...events), true),
    /** As a caller in this process does. */
    publishOther: async (...events: readonly object[]) => live.publish(key, await write(...events), false),
    say: (text: string, more: object = {}) => live.session(key).publishDelta(event('text-delta', { step: 1, messageId: 'm', index: 0, delta: text, ...more }) as never),
    /** The run that is active in this process leaves it: from then on readers alone keep what is said. */
    endRun: () => {
      live.endRun(key, 'r1')
      letGo()
    },
    /** What happens while the next readings of the store are under way, when they have their answer. */
    duringReads: (...work: readonly (() => unknown)[]) => void during.push(...work),
    /** Lets all happen that needs no time. */
    settle: () => clock.advance(0),
    reading: (options: Partial<LogReading> = {}): LogReading => ({
      ...{ store, liveLog: live, clock, key, live: true },
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
      return seen.map(({ cursor }) => cursor)
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
