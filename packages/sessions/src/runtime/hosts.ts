import type { Clock } from '@bowline/llm'
import { inputChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { ErrorContext, OnWake, RuntimeOptions, Wake } from './types.ts'

/** Time in ms for which a commit waits for a host that was told of its work. */
const patienceMs = 5_000

export interface HostsOptions {
  readonly clock: Clock
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
}

/** The hosts that are told when there is work. */
export class Hosts {
  /** True if the hosts decide which process works on which session. */
  readonly decide: boolean
  readonly #options: HostsOptions
  readonly #callbacks = new Set<OnWake>()

  constructor({ placement = 'own', onWake }: RuntimeOptions, options: HostsOptions) {
    this.decide = placement === 'host'
    this.#options = options
    if (onWake) this.#callbacks.add(onWake)
  }

  get isTold(): boolean {
    return this.#callbacks.size > 0
  }

  add(callback: OnWake): () => void {
    inputChecks.requiredFunction('onWake.callback', callback)
    this.#callbacks.add(callback)
    return () => void this.#callbacks.delete(callback)
  }

  /** Throws if the hosts decide and there is none: runs would wait for ever. */
  check(): void {
    if (!this.decide || this.isTold) return
    throw new SessionError(
      'invalid-config',
      "The placement is 'host', and no host is told of work: set onWake of createRuntime, or give the runtime to its host before it starts.",
    )
  }

  /** Tells all hosts and waits for them, for a limited time. Reports their failures. Does not reject. */
  async tell(wake: Wake): Promise<void> {
    await Promise.all([...this.#callbacks].map(async (callback) => this.#call(callback, wake)))
  }

  async #call(callback: OnWake, wake: Wake): Promise<void> {
    const { clock, onError } = this.#options
    const { promise: late, reject } = Promise.withResolvers<never>()
    const cancel = clock.setTimer(clock.now() + patienceMs, () => {
      reject(new SessionError('store-unavailable', `onWake did not resolve within ${patienceMs} ms: a sweep tells the host again.`))
    })
    try {
      await Promise.race([callback(wake), late])
    } catch (error) {
      onError(error, { during: 'wake', ...(wake.key !== undefined && { session: wake.key }) })
    } finally {
      cancel()
    }
  }
}
