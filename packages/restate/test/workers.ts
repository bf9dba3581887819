import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach } from 'vitest'
import { nodeFlags, program } from '../../../scripts/programs.ts'
import type { LoggedEvent } from '@bowline/sessions'
import type { ReaderOptions } from './fixtures/reader.ts'
import type { WorkerOptions } from './fixtures/worker.ts'

/** Line that a worker or a reader prints. `at` is epoch milliseconds. */
export interface Said {
  readonly at: number
  readonly listening?: number
  readonly tool?: string
  readonly did?: string
  readonly id?: string
  readonly model?: string
  readonly error?: string
  /** Event of the session `key` that a reader has seen. */
  readonly event?: LoggedEvent
  readonly key?: string
  /** Code of the error that ended a reading. */
  readonly away?: string
}

interface Program {
  readonly said: readonly Said[]
  /** Resolves with the first message that fits. */
  until(fits: (said: Said) => boolean): Promise<Said>
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): Promise<void>
}

export interface Worker extends Program {
  readonly port: number
}

/** Returns a function that starts workers, which are killed after each test. */
export function workers(): (options: WorkerOptions) => Promise<Worker> {
  const startProgram = programs()
  return async (options) => {
    const worker = startProgram('worker', options)
    const { listening = 0 } = await worker.until((each) => each.listening !== undefined)
    return { ...worker, port: listening }
  }
}

/** Returns a function that starts a process which reads all sessions. It is killed after the test. */
export function readers(): (options: ReaderOptions) => Program {
  const startProgram = programs()
  return (options) => startProgram('reader', options)
}

function programs(): (name: 'worker' | 'reader', options: object) => Program {
  const started: Program[] = []
  afterEach(async () => {
    for (const each of started.splice(0)) await each.signal('SIGKILL')
  })
  return (name, options) => {
    const child = start(name, options)
    started.push(child)
    return child
  }
}

function start(name: 'worker' | 'reader', options: object): Program {
  const child = spawn(process.execPath, [...nodeFlags, program(`restate/test/fixtures/${name}`), JSON.stringify(options)], {
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
      await Promise.race([news.promise, exit.then(() => Promise.reject(new Error(`The ${name} has ended:\n${errors}`)))])
    }
  }
  exit.catch(() => undefined)
  return {
    said,
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
