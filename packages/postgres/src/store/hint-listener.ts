import { decodeHints } from './hint-format.ts'
import type { Hint } from './hint-format.ts'
import type { Session } from './pg-session.ts'
import type { SessionUser } from './session-connection.ts'

export interface HintListenerOptions {
  readonly channel: string
  /** Id of this process in the hints that it sends. */
  readonly sender: string
  /** Called for each hint of another process. */
  readonly onHint: (hint: Hint) => void
  /** Called when hints may have been lost: their effects must be looked up once. */
  readonly onGap: () => void
  /** Called when a batch of this process comes back. */
  readonly onOwn: (batch: number) => void
  /** Called with errors of listeners. Must not throw. */
  readonly onError: (error: unknown) => void
}

/** Listens to hints of other processes while there is a connection. */
export class HintListener implements SessionUser {
  readonly #options: HintListenerOptions
  #received = 0
  #gaps = 0

  constructor(options: HintListenerOptions) {
    this.#options = options
  }

  get counts(): { readonly received: number; readonly gaps: number } {
    return { received: this.#received, gaps: this.#gaps }
  }

  async opened(session: Session): Promise<void> {
    const { channel } = this.#options
    session.onNotification((given, payload) => {
      if (given === channel) this.#receive(payload)
    })
    await session.query(`listen ${channel}`)
    this.#tellGap()
  }

  #receive(payload: string): void {
    const { sender, onHint, onOwn } = this.#options
    const batch = decodeHints(payload)
    if (batch?.sender === sender) return onOwn(batch.batch)
    if (!batch?.hints) return this.#tellGap()
    for (const hint of batch.hints) {
      this.#received += 1
      this.#call(() => onHint(hint))
    }
  }

  #tellGap(): void {
    this.#gaps += 1
    this.#call(this.#options.onGap)
  }

  /** Catches errors of a listener, which must not end the process. */
  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#options.onError(error)
    }
  }
}
