import { readFileSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Batch, SessionStore } from '@bowline/sessions'
import type { Clock } from '@bowline/llm'
import { isMissing } from './is-missing.ts'

/**
 * `in-tool`: soon after the next tool has started, and before any outcome of it is stored. `after-result`: right after the next
 * outcome of a tool is stored, while others may be at work.
 */
export const killMoments = ['before-commit', 'after-commit', 'in-tool', 'after-result'] as const

export type KillMoment = (typeof killMoments)[number]

interface KillPoint {
  readonly sessionKey: string
  readonly at: KillMoment
  readonly until: number
}

export interface KillPoints {
  /** Takes the place of a point that was set before. Resolves to the time until which it counts. */
  set(sessionKey: string, at: KillMoment): Promise<number>
  /** Takes the point of this session away, if there is one: the input that it was set for was not accepted. */
  clear(sessionKey: string): Promise<void>
  /** The same store, in which this process dies when it comes to the point. */
  around(store: SessionStore): SessionStore
}

const lifeMs = 60_000
/** A tool of the demo has done its effect by then, and is still at work. */
const inToolMs = 100

/**
 * Ends the process that makes the next commit of a session. The point is a file in the data folder: of several processes the
 * one that comes to it first takes the file away and dies, so that none that goes on with the run dies too.
 */
export function createKillPoints(dataFolder: string, clock: Clock, die: () => void = killThisProcess): KillPoints {
  const file = join(dataFolder, 'kill-point.json')
  const inTool = new Set<string>()

  const read = (key: string): KillPoint | undefined => {
    try {
      const point = JSON.parse(readFileSync(file, 'utf8')) as KillPoint
      return point.sessionKey === key && clock.now() < point.until ? point : undefined
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
  /** Never resolves, unless another process has taken the point. */
  const strike = async (): Promise<void> => {
    try {
      rmSync(file)
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    die()
    await new Promise(() => undefined)
  }
  const commit = async (store: SessionStore, batch: Batch): ReturnType<SessionStore['commit']> => {
    const at = read(batch.key)?.at
    if (at === 'before-commit' || (at === 'in-tool' && inTool.has(batch.key) && tells(batch, 'tool-execution-end'))) await strike()
    const result = await store.commit(batch)
    if (result.ok && (at === 'after-commit' || (at === 'after-result' && tells(batch, 'tool-execution-end')))) await strike()
    if (at === 'in-tool' && result.ok && tells(batch, 'tool-execution-start')) {
      inTool.add(batch.key)
      clock.setTimer(clock.now() + inToolMs, () => void strike())
    }
    return result
  }
  return {
    async set(sessionKey, at) {
      inTool.delete(sessionKey)
      const until = clock.now() + lifeMs
      await writeFile(file, JSON.stringify({ sessionKey, at, until } satisfies KillPoint))
      return until
    },
    async clear(sessionKey) {
      inTool.delete(sessionKey)
      if (read(sessionKey)) await rm(file, { force: true })
    },
    around: (store) => committingBy(store, (batch) => commit(store, batch)),
  }
}

function tells({ writes }: Batch, type: 'tool-execution-start' | 'tool-execution-end'): boolean {
  return writes.some((write) => write.op === 'event.append' && write.events.some(({ event }) => event.type === type))
}

/** The store with another commit. */
function committingBy(store: SessionStore, commit: SessionStore['commit']): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'commit') return commit
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL')
}
