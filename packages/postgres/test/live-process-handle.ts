import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, vi } from 'vitest'
import { nodeFlags, program } from '../../../scripts/programs.ts'
import type { Hint } from '../src/store/hint-format.ts'
import type { LiveMetrics } from '../src/store/live-connection.ts'
import type { Place } from './clients.ts'

export interface LiveProcessOptions {
  readonly place: Place
  readonly schema: string
  readonly namespace: string
  readonly owner: string
  readonly isIdle?: boolean
  readonly checkMs?: number
  readonly answerMs?: number
}

export interface Said {
  readonly opened?: true
  readonly registered?: string
  readonly fenced?: true
  readonly lost?: string
  readonly hint?: Hint
  readonly gap?: true
  readonly warning?: string
  readonly error?: string
  readonly did?: string
  readonly mayClaim?: boolean
  readonly metrics?: LiveMetrics
}

export interface LiveProcess {
  readonly said: readonly Said[]
  /** Name of its last registration. */
  readonly owner: string
  /** Processes that it has taken over. */
  readonly lost: readonly string[]
  /** Resolves with the first message that fits. */
  until(fits: (said: Said) => boolean): Promise<Said>
  /** Sends an order. Resolves with the message that reports its end. */
  order(text: string): Promise<Said>
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>
  readonly isRunning: boolean
}

/** Returns a function that starts processes, which are killed after each test. */
export function liveProcesses(): (options: LiveProcessOptions) => Promise<LiveProcess> {
  const started: LiveProcess[] = []
  afterEach(async () => {
    for (const each of started) each.signal('SIGKILL')
    for (const each of started.splice(0)) await each.exit
  })
  return async (options) => {
    const live = start(options)
    started.push(live)
    await live.until(({ opened }) => opened === true)
    return live
  }
}

function start(options: LiveProcessOptions): LiveProcess {
  const child = spawn(process.execPath, [...nodeFlags, program('postgres/test/fixtures/live-process'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const said: Said[] = []
  let isRunning = true
  const exit = once(child, 'exit').then(([code, signal]) => ({ code: code as number | null, signal: signal as string | null }))
  void exit.then(() => (isRunning = false))
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line) as Said))
  const live: LiveProcess = {
    said,
    exit,
    get isRunning() {
      return isRunning
    },
    get owner() {
      return said.findLast(({ registered }) => registered !== undefined)?.registered ?? ''
    },
    get lost() {
      return said.flatMap(({ lost }) => lost ?? [])
    },
    until: (fits) =>
      vi.waitUntil(
        () => {
          const found = said.find(fits)
          if (found === undefined && !isRunning) throw new Error(`The process has ended. It said ${JSON.stringify(said)}.`)
          return found
        },
        { timeout: 20_000, interval: 5 },
      ),
    order(text) {
      const before = said.length
      child.stdin.write(`${text}\n`)
      return live.until((each) => each.did === text && said.indexOf(each) >= before)
    },
    signal: (signal) => void child.kill(signal),
  }
  return live
}
