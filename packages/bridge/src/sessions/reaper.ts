import type { Core } from '../core.ts'
import type { SessionRegistry } from './session-registry.ts'
import { expiryOf } from './session-record.ts'

const sweepEveryMs = 60_000

/** Ends expired sessions. Its timer runs only while some session can expire. Sweeps do not overlap. */
export class Reaper {
  readonly #core: Core
  readonly #sessions: SessionRegistry
  #cancelTimer: (() => void) | undefined
  #sweeping = false
  #stopped = false

  constructor(core: Core, sessions: SessionRegistry) {
    this.#core = core
    this.#sessions = sessions
  }

  /** Arms or cancels the timer. Call it when sessions were added or removed. */
  look(): void {
    if (this.#stopped || this.#sweeping) return
    const isNeeded = this.#sessions.live().some(({ stored }) => Number.isFinite(expiryOf(stored.value)))
    if (!isNeeded) return this.#disarm()
    this.#cancelTimer ??= this.#core.settings.clock.setTimer(this.#core.settings.clock.now() + sweepEveryMs, () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    this.#disarm()
    this.#sweeping = true
    await this.#sessions.expireDue()
    this.#sweeping = false
    this.look()
  }

  stop(): void {
    this.#stopped = true
    this.#disarm()
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }
}
