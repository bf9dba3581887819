import type { SessionStore, StoreOpenOptions } from '../store/contract.ts'
import { SessionError } from '../errors.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { StartOptions, StartReport } from './types.ts'

/** The longest interval that timers know: it only holds the process. */
const keepAliveMs = 2 ** 31 - 1

/** Start and stop of a runtime, whichever way they fail or meet. A store that runtimes share is closed once by each. */
export class Lifecycle {
  readonly #store: SessionStore
  readonly #loop: ClaimLoop
  readonly #openOptions: StoreOpenOptions
  #starting: Promise<StartReport> | undefined
  #stopping: Promise<void> | undefined
  #isOpen = false
  #releaseProcess: (() => void) | undefined

  constructor(store: SessionStore, loop: ClaimLoop, openOptions: StoreOpenOptions) {
    this.#store = store
    this.#loop = loop
    this.#openOptions = openOptions
  }

  /** A start that fails leaves nothing open. */
  async start(options: StartOptions): Promise<StartReport> {
    if (this.#starting) throw new SessionError('invalid-config', 'The runtime was started already.')
    this.#starting = this.#open(options)
    return this.#starting
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs).finally(() => (this.#stopping = undefined))
    return this.#stopping
  }

  async #open({ keepAlive = false }: StartOptions): Promise<StartReport> {
    try {
      await this.#store.open(this.#openOptions)
      this.#isOpen = true
      const recovered = await this.#loop.start()
      if (keepAlive) this.#releaseProcess = holdProcess()
      return { recovered }
    } catch (error) {
      // Why it failed to start matters more than how it failed to close.
      await this.#close(0).catch(() => undefined)
      throw error
    }
  }

  async #stop(graceMs: number): Promise<void> {
    // Its failure is told to whoever started.
    await this.#starting?.catch(() => undefined)
    await this.#close(graceMs)
  }

  async #close(graceMs: number): Promise<void> {
    const isOpen = this.#isOpen
    this.#isOpen = false
    this.#starting = undefined
    if (isOpen) await this.#loop.stop(graceMs)
    this.#releaseProcess?.()
    if (isOpen) await this.#store.close()
  }
}

function holdProcess(): () => void {
  const timer = setInterval(() => undefined, keepAliveMs)
  return () => clearInterval(timer)
}
