import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestAnswer, TestOrder, TestProcessOptions } from './test-process.ts'

const program = fileURLToPath(new URL('./test-process.ts', import.meta.url))

/** Runs the tests of one part in a separate process. The process is replaced if it hangs, ends, or has reported a failure. */
export class TestRunner {
  #options: TestProcessOptions
  #child: Promise<ChildProcess> | undefined

  constructor(options: TestProcessOptions) {
    this.#options = options
  }

  /** Runs the tests without a fault. Later runs begin with the fastest tests. */
  async start(limitMs: number): Promise<TestAnswer | 'hangs'> {
    const answer = await this.run('start', limitMs)
    if (answer !== 'hangs') this.#options = { ...this.#options, tests: answer.quickFirst }
    return answer
  }

  /** Resolves with the result of the tests, or `'hangs'` if there is none within `limitMs`. Rejects if the process cannot start. */
  async run(order: TestOrder | 'start', limitMs: number): Promise<TestAnswer | 'hangs'> {
    const child = await (this.#child ??= startProcess(this.#options))
    const answer = await Promise.race([ask(child, order), inMs(limitMs)])
    // A failure cancels the other tests, and their remains could affect the next run.
    if (answer === 'hangs' || answer.noticedBy !== undefined || child.exitCode !== null) await this.close()
    return answer
  }

  /** Resolves when the process has ended: until then it may write files. */
  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    await child?.then(endProcess, () => undefined)
  }
}

function startProcess(options: TestProcessOptions): Promise<ChildProcess> {
  // In its own process group, so that the workers and programs of the tests end with it.
  const child = fork(program, [JSON.stringify(options)], {
    cwd: options.root,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = (): void => killGroup(child)
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve(child))
    child.once('exit', (code) => reject(new Error(`The test process ended with code ${code} before it was ready.`)))
  })
}

function ask(child: ChildProcess, order: TestOrder | 'start'): Promise<TestAnswer> {
  return new Promise((resolve) => {
    // A fault may end the process that runs the tests.
    const onExit = (): void => resolve({ noticedBy: 'the end of the test process', tests: 0, quickFirst: [] })
    child.once('exit', onExit)
    child.once('message', (answer: TestAnswer) => {
      child.off('exit', onExit)
      resolve(answer)
    })
    child.send(order)
  })
}

async function endProcess(child: ChildProcess): Promise<void> {
  const isEnded = child.exitCode !== null || child.signalCode !== null
  const ended = isEnded ? undefined : once(child, 'exit')
  killGroup(child)
  await ended
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes of the group have ended.
  }
}

function inMs(limitMs: number): Promise<'hangs'> {
  return new Promise((resolve) => void setTimeout(() => resolve('hangs'), limitMs).unref())
}
