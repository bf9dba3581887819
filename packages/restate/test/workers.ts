import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach } from 'vitest'
import { nodeFlags, program } from '../../../scripts/programs.ts'
import type { WorkerOptions } from './fixtures/worker.ts'

/** Line that a worker prints. `at` is epoch milliseconds. */
export interface Said {
  readonly at: number
  readonly listening?: number
  readonly tool?: string
  readonly did?: string
  readonly id?: string
  readonly model?: string
  readonly error?: string
}

export interface Worker {
  readonly said: readonly Said[]
  readonly port: number
  /** Resolves with the first message that fits. */
  until(fits: (said: Said) => boolean): Promise<Said>
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): Promise<void>
}

/** Returns a function that starts workers, which are killed after each test. */
export function workers(): (options: WorkerOptions) => Promise<Worker> {
  const started: Worker[] = []
  afterEach(async () => {
    for (const worker of started.splice(0)) await worker.signal('SIGKILL')
  })
  return async (options) => {
    const worker = await start(options)
    started.push(worker)
    return worker
  }
}

async function start(options: WorkerOptions): Promise<Worker> {
  const child = spawn(process.execPath, [...nodeFlags, program('restate/test/fixtures/worker'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, RESTATE_LOGGING: 'ERROR' },
  })
  const exit = once(child, 'exit')
  const said: Said[] = []
  let news = Promise.withResolvers<void>()
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) said.push(JSON.parse(line) as Said)
    const { resolve } = news
    news = Promise.withResolvers()
    resolve()
  })
  const until = async (fits: (each: Said) => boolean): Promise<Said> => {
    for (;;) {
      const found = said.find(fits)
      if (found) return found
      await Promise.race([news.promise, exit.then(() => Promise.reject(new Error(`The worker has ended:\n${errors}`)))])
    }
  }
  exit.catch(() => undefined)
  const { listening = 0 } = await until((each) => each.listening !== undefined)
  return {
    said,
    port: listening,
    until,
    async signal(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        if (signal === 'SIGKILL') child.kill('SIGCONT')
        child.kill(signal)
        if (signal === 'SIGKILL' || signal === 'SIGTERM') await exit
      }
    },
  }
}
