import { readFileSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Batch, SessionStore } from '@bowline/sessions'
import type { Clock } from '@bowline/llm'
import { isMissing } from './is-missing.ts'

/**
 * `in-tool`: soon after the next tool has started, before its outcome is stored. `after-result`: right after the next outcome of a
 * tool is stored, while others may be running.
 */
export const killMoments = ['before-commit', 'after-commit', 'in-tool', 'after-result'] as const

export type KillMoment = (typeof killMoments)[number]

interface KillPoint {
  readonly sessionKey: string
  readonly at: KillMoment
  readonly until: number
}

export interface KillPoints {
  /** Sets the kill point and replaces an earlier one. Resolves with the time until which it is valid. */
  set(sessionKey: string, at: KillMoment): Promise<number>
  /** Removes the kill point of this session, if there is one: the input for which it was set was not accepted. */
  clear(sessionKey: string): Promise<void>
  /** Returns the store with commits that kill this process at the kill point. */
  around(store: SessionStore): SessionStore
}

const lifeMs = 60_000
/** Delay after which a tool of the demo has performed its effect and is still running. */
const inToolMs = 100

/**
 * Kills the process that reaches the kill point of a session. The point is a file in the data folder. If there are several
 * processes, the first one removes the file and dies, so that the one that takes over the run survives.
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
  /** Kills this process. Resolves only if another process has removed the kill point. */
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

/** Returns the store with another `commit`. */
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
