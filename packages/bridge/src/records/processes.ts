import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'

const space = 'bridge-process'
const lifeMs = 30_000
const touchEveryMs = 10_000

export interface ProcessesOptions {
  readonly store: StateStore
  readonly clock: Clock
  /** False if this bridge is the only user of the store. */
  readonly isShared: boolean
  readonly onError: (error: unknown) => void
}

/**
 * Tracks which bridges on a store are alive, so that requests of dead ones can be taken over or reported as lost. A bridge is dead
 * if its record has expired, or, on the same machine, if its process is gone.
 */
export class Processes {
  /** Id of this bridge. */
  readonly id = randomUUID()
  readonly #options: ProcessesOptions
  #cancelTimer = (): void => {}
  #running = false

  constructor(options: ProcessesOptions) {
    this.#options = options
  }

  get isShared(): boolean {
    return this.#options.isShared
  }

  async start(): Promise<void> {
    if (this.#options.isShared) {
      await this.#write()
      this.#touchLater()
    }
    this.#running = true
  }

  async stop(): Promise<void> {
    if (!this.#running) return
    this.#running = false
    this.#cancelTimer()
    if (!this.#options.isShared) return
    await this.#options.store.delete(space, this.id)
  }

  async isAlive(id: string): Promise<boolean> {
    if (id === this.id) return this.#running
    const read = await this.#options.store.get(space, id)
    if (read.status !== 'found') return false
    const { host, pid } = read.value.value as { readonly host: string; readonly pid: number }
    return host !== hostname() || processLives(pid)
  }

  async #write(): Promise<void> {
    await this.#options.store.compareAndSet(space, this.id, null, { host: hostname(), pid: process.pid }, { ttlMs: lifeMs })
  }

  #touchLater(): void {
    this.#cancelTimer = this.#options.clock.setTimer(this.#options.clock.now() + touchEveryMs, () => void this.#touch())
  }

  async #touch(): Promise<void> {
    try {
      // After sleep of the machine, the record may have expired.
      if (!(await this.#options.store.touch(space, this.id, lifeMs)) && this.#running) await this.#write()
    } catch (error) {
      this.#options.onError(error)
    }
    if (this.#running) this.#touchLater()
  }
}

function processLives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
