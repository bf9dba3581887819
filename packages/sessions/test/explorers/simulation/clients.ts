import { SessionError } from '../../../src/errors.ts'
import type { Runtime } from '../../../src/runtime/types.ts'
import type { AcknowledgedInput } from '../../../../testing/src/crash-kit/types.ts'
import { nameOfError } from '../../../../testing/src/crash-kit/start-runtime.ts'
import { textOfInput, tokenOf } from '../programs/plan-text.ts'
import type { Cluster, Living } from './cluster.ts'
import { Follower } from './follower.ts'
import type { SimulationStep } from './simulation.ts'

type InputStep = Extract<SimulationStep, { readonly name: string }>

/** Time in ms for which a client waits before it asks another process. */
const patienceMs = 3_000
const mostTries = 12

/** The clients of a simulation. They outlive its processes, and ask another process if they get no answer. */
export class Clients {
  readonly accepted: (AcknowledgedInput & { readonly runId: string })[] = []
  /** Errors that no client should get, and clients that gave up. */
  readonly surprises: string[] = []
  readonly followers: Follower[] = []
  readonly #cluster: Cluster
  #waiting = 0

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  perform(step: SimulationStep): void {
    this.#cluster.log('client', JSON.stringify(step))
    if (step.do === 'follow') return void this.followers.push(new Follower(this.#cluster, step, this.followers.length + 1))
    this.#waiting += 1
    void this.#untilAnswered(step, (living) => this.#ask(living, step)).finally(() => (this.#waiting -= 1))
  }

  /** Reads the sessions, each at another process. */
  readAll(keys: readonly string[]): void {
    // The answers are recorded in the history.
    for (const [index, key] of keys.entries()) void read(this.#cluster.at(index).runtime, key).catch(() => undefined)
  }

  async #untilAnswered(step: SimulationStep, ask: (living: Living) => Promise<void>): Promise<void> {
    for (let tries = 0; tries < mostTries; tries++) {
      if (await this.#within(this.#cluster.at(step.at + tries), ask)) return
    }
    this.surprises.push(`a client got no answer in ${mostTries} tries: ${JSON.stringify(step)}`)
  }

  /** Resolves with false if no answer came in time, or if the store was unavailable. */
  #within(living: Living, ask: (living: Living) => Promise<void>): Promise<boolean> {
    const { clock, now } = this.#cluster.time
    return new Promise((resolve) => {
      const cancel = clock.setTimer(now + patienceMs, () => resolve(false))
      ask(living).then(
        () => {
          cancel()
          resolve(true)
        },
        (error: unknown) => {
          // Waits until the timeout before it asks the next process, which may not reach the store either.
          if (SessionError.isInstance(error) && error.retryable) return
          cancel()
          this.surprises.push(nameOfError(error))
          resolve(true)
        },
      )
    })
  }

  async #ask(living: Living, step: SimulationStep): Promise<void> {
    const session = living.runtime.session(step.to)
    switch (step.do) {
      case 'stop':
        return void (await session.stop({ waitMs: 500 }))
      case 'follow':
        return
      case 'read':
        return read(living.runtime, step.to)
      case 'send':
      case 'steer':
      case 'follow-up':
        return this.#give(living, step)
    }
  }

  async #give({ process, runtime }: Living, step: InputStep): Promise<void> {
    const session = runtime.session(step.to)
    const content = textOfInput(tokenOf(step.to, step.name), step.plan)
    const method = step.do === 'follow-up' ? 'followUp' : step.do
    const run = await session[method](content, { id: `${step.to}/${step.name}` })
    this.#cluster.log(process, `${step.name} is accepted as ${run.runId}: ${run.accepted}`)
    this.accepted.push({
      method,
      session: step.to,
      inputId: `${step.to}/${step.name}`,
      content,
      isNew: run.accepted !== 'duplicate',
      runId: run.runId,
    })
    void run.result().catch(() => undefined)
    if (step.thenReadAt !== undefined) this.perform({ afterMs: 0, at: step.thenReadAt, to: step.to, do: 'read' })
  }
}

/** Reads a session at one process. The history checks the answers against stored records. */
async function read(runtime: Runtime, key: string): Promise<void> {
  const session = runtime.session(key)
  if (!(await session.info())) return
  await session.messages()
  await session.runs()
  for await (const event of session.events({ live: false })) if (event.type === 'session-end') return
}
