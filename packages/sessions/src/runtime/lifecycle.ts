import { systemClock } from '@bowline/llm'
import { toRunInfo } from '../commands/views.ts'
import type { RunInfo } from '../commands/types.ts'
import type { Claim, SessionStore, StoreHint, StoreOpenOptions } from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { Courier } from './courier.ts'
import type { Scheduler } from './scheduler.ts'
import type { StartOptions, StartReport } from './types.ts'

interface LifecycleParts {
  readonly store: SessionStore
  readonly loop: ClaimLoop
  readonly scheduler: Scheduler
  readonly courier: Courier
  readonly openOptions: StoreOpenOptions
  /** Throws if a host must be told of work, and there is none. */
  readonly checkHost: () => void
  readonly onHint: (hint: StoreHint) => void
  /** Finishes pending writes after the last execution has ended, within this time. */
  readonly finishWriting: (withinMs: number) => Promise<void>
}

/** Start and stop of a runtime, also if they fail or overlap. If runtimes share a store, each closes it once. */
export class Lifecycle {
  readonly #store: SessionStore
  readonly #loop: ClaimLoop
  readonly #scheduler: Scheduler
  readonly #courier: Courier
  readonly #openOptions: StoreOpenOptions
  readonly #checkHost: () => void
  readonly #onHint: (hint: StoreHint) => void
  readonly #finishWriting: LifecycleParts['finishWriting']
  #unsubscribe: (() => void) | undefined
  #wasAskedToStart = false
  #wasStopped = false
  #starting: Promise<readonly Claim[]> | undefined
  #stopping: Promise<void> | undefined
  #isOpen = false
  #over = new AbortController()
  #releaseProcess: (() => void) | undefined

  constructor({ store, loop, scheduler, courier, openOptions, checkHost, onHint, finishWriting }: LifecycleParts) {
    this.#store = store
    this.#loop = loop
    this.#scheduler = scheduler
    this.#courier = courier
    this.#openOptions = openOptions
    this.#checkHost = checkHost
    this.#onHint = onHint
    this.#finishWriting = finishWriting
  }

  /** Aborted once the store is about to be closed. Another start has another signal. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Starts the runtime if it was not started, or if its start failed. A stopped runtime stays stopped. */
  async ensureStarted(): Promise<void> {
    if (this.#wasStopped && !this.#starting) return
    this.#starting ??= this.#open({})
    await this.#starting
  }

  /** Starts the runtime. If it fails, it leaves nothing open. */
  async start(options: StartOptions): Promise<StartReport> {
    if (this.#wasAskedToStart)
      throw new SessionError('invalid-config', 'The runtime is already started. Create another runtime to start again.')
    this.#wasAskedToStart = true
    const begun = this.#starting
    this.#starting ??= this.#open(options)
    // The first use of a session has started the runtime before.
    if (begun && options.keepAlive) this.#releaseProcess ??= holdProcess()
    const lost = await this.#starting
    try {
      await this.#loop.judged(lost)
      return { recovered: lost.length, runs: await this.#present(lost) }
    } catch (error) {
      if (this.#wasStopped) return { recovered: lost.length, runs: [] }
      await this.#fail()
      throw error
    }
  }

  async #present(claims: readonly Claim[]): Promise<readonly RunInfo[]> {
    const read = await Promise.all(claims.map(({ run }) => this.#store.readRun(run.id)))
    return Promise.all(read.flatMap((run) => (run.status === 'found' ? toRunInfo(this.#store, run.value) : [])))
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs).finally(() => (this.#stopping = undefined))
    return this.#stopping
  }

  async #open({ keepAlive = false }: StartOptions): Promise<readonly Claim[]> {
    try {
      this.#checkHost()
      await this.#store.open(this.#openOptions)
      this.#isOpen = true
      this.#over = new AbortController()
      this.#unsubscribe = this.#store.subscribe(this.#onHint)
      const lost = await this.#loop.start()
      this.#courier.start()
      this.#scheduler.start()
      if (keepAlive) this.#releaseProcess = holdProcess()
      return lost
    } catch (error) {
      await this.#fail()
      throw error
    }
  }

  /** Closes everything, so that the next start begins anew. */
  async #fail(): Promise<void> {
    // The error of the start matters more than an error of closing.
    await this.#close(0).catch(() => undefined)
    this.#starting = undefined
    this.#wasAskedToStart = false
  }

  async #stop(graceMs: number): Promise<void> {
    this.#wasStopped = true
    // The caller of `start` gets the error.
    await this.#starting?.catch(() => undefined)
    this.#starting = undefined
    this.#wasAskedToStart = false
    await this.#close(graceMs)
  }

  async #close(graceMs: number): Promise<void> {
    const isOpen = this.#isOpen
    this.#isOpen = false
    this.#unsubscribe?.()
    if (isOpen) {
      // Both share the grace period, so that a slow webhook takes no time from the runs.
      await Promise.all([this.#loop.stop(graceMs), this.#courier.stop(graceMs)])
      this.#over.abort()
      await this.#scheduler.stop()
      await this.#finishWriting(graceMs)
    }
    this.#releaseProcess?.()
    this.#releaseProcess = undefined
    if (isOpen) await this.#store.close()
  }
}

function holdProcess(): () => void {
  return systemClock.setTimer(Infinity, () => undefined, { hold: true })
}

/** Returns a store for calls that may come before the runtime is started. The first call starts it. */
export function startingStore(store: SessionStore, started: () => Promise<unknown>): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'subscribe') return value
      return async (...parameters: unknown[]): Promise<unknown> => {
        await started()
        return Reflect.apply(value, target, parameters) as unknown
      }
    },
  })
}
