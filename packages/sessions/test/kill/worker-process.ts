import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { LoggedEvent } from '@bowline/sessions'
import type { AcknowledgedInput } from '@bowline/testing/crashes'
import { nodeFlags, program } from '../../../../scripts/programs.ts'

export type WorkerMessage =
  | { readonly type: 'started'; readonly recovered: number }
  | { readonly type: 'accepted'; readonly runId: string }
  | { readonly type: 'input'; readonly input: AcknowledgedInput }
  | { readonly type: 'slow-started' }
  | { readonly type: 'event'; readonly event: LoggedEvent }
  | { readonly type: 'moment'; readonly what: string }
  | { readonly type: 'spent'; readonly status: string; readonly cost?: string; readonly error?: string }
  | { readonly type: 'done' }
  | { readonly type: 'aborted' }
  | { readonly type: 'sent'; readonly longestWaitMs: number }
  | { readonly type: 'fault'; readonly code: string }

export interface EffectLine {
  readonly name: string
  readonly idempotencyKey: string
  readonly attempt: number
}

/** A folder with a store, and a file in which tools record their effects. */
export class Workplace {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bowline-kill-'))
  readonly store: string
  readonly effectsFile = join(this.#folder, 'effects.jsonl')
  readonly #workers: WorkerProcess[] = []

  /** The name selects the kind of store, see `storeAt`. */
  constructor(storeName: string) {
    this.store = join(this.#folder, storeName)
  }

  start(effect: string, mode = 'serve'): WorkerProcess {
    return this.startProgram('worker', [this.store, this.effectsFile, effect, mode])
  }

  startProgram(name: string, args: readonly string[]): WorkerProcess {
    const worker = new WorkerProcess(program(`sessions/test/fixtures/${name}`), args)
    this.#workers.push(worker)
    return worker
  }

  effects(name?: string): EffectLine[] {
    if (!existsSync(this.effectsFile)) return []
    const lines = readFileSync(this.effectsFile, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line) as EffectLine).filter((line) => name === undefined || line.name === name)
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()))
  }

  async remove(): Promise<void> {
    await this.killAll()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #messages: AsyncIterator<string>
  readonly #exited: Promise<unknown>
  #errors = ''

  constructor(script: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, [...nodeFlags, script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exited = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.stderr?.on('data', (text: Buffer) => (this.#errors += text.toString()))
    if (!this.#child.stdout) throw new Error('the worker has no output')
    this.#messages = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Reads up to the first message that fits. Returns all messages up to it. */
  async readUntil(fits: (message: WorkerMessage) => boolean): Promise<WorkerMessage[]> {
    const seen: WorkerMessage[] = []
    for (;;) {
      const line = await this.#messages.next()
      if (line.done) throw new Error(`the worker ended: ${this.#errors}`)
      const message = JSON.parse(line.value) as WorkerMessage
      seen.push(message)
      if (fits(message)) return seen
    }
  }

  /** Returns all messages until the process is dead. Kills it once it is done. */
  async rest(): Promise<WorkerMessage[]> {
    const seen: WorkerMessage[] = []
    for (let line = await this.#messages.next(); !line.done; line = await this.#messages.next()) {
      const message = JSON.parse(line.value) as WorkerMessage
      seen.push(message)
      if (message.type === 'done') await this.kill()
    }
    await this.#exited
    if (this.#child.signalCode !== 'SIGKILL') throw new Error(`the worker ended: ${this.#errors}`)
    return seen
  }

  /** Returns all further messages until the process has ended in any way. */
  async readToEnd(): Promise<WorkerMessage[]> {
    const seen: WorkerMessage[] = []
    for (let line = await this.#messages.next(); !line.done; line = await this.#messages.next())
      seen.push(JSON.parse(line.value) as WorkerMessage)
    return seen
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async eventsUntil(type: LoggedEvent['type']): Promise<LoggedEvent[]> {
    const messages = await this.readUntil((message) => message.type === 'event' && message.event.type === type)
    return messages.flatMap((message) => (message.type === 'event' ? [message.event] : []))
  }

  stop(): void {
    this.#child.kill('SIGSTOP')
  }

  goOn(): void {
    this.#child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }
}
