import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createRuntime, SessionError, type RunHandle, type Runtime, type Session, type SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { historyFile } from '../../explorers/history/history-file.ts'
import { readHistory } from '../../explorers/history/read-history.ts'
import { recordHistory } from '../../explorers/history/record-history.ts'
import type { AcknowledgedInput, CrashEnd } from '@bowline/testing/crashes'
import { expect } from 'vitest'
import { isAtRest, readSessions } from '../../../../testing/src/crash-kit/read-end.ts'
import { attempts, payingAgent } from '../../fixtures/paying-agent.ts'
import type { CrewWorkerOptions } from '../../fixtures/crew-worker.ts'
import { holdingAgent } from '../../fixtures/holding-agent.ts'
import { settleDoubts } from '../../fixtures/paying-client.ts'
import { accepted } from '../../history/recorded-runs.ts'
import { Workplace, type WorkerProcess } from '../worker-process.ts'
import type { WorldProcess } from '../world-process.ts'

/** Workers take over lost runs after two seconds. */
const lease = { ttlMs: 2_000, heartbeatMs: 500 }

/** Processes on one database: workers, and a client in this process, which executes nothing. */
export class Crew extends Workplace {
  readonly faults: unknown[] = []
  readonly #url: string
  readonly #world: WorldProcess
  readonly #runs: string[] = []
  readonly #inputs: AcknowledgedInput[] = []
  #histories = 0
  #client: { readonly runtime: Runtime; readonly store: SessionStore } | undefined

  constructor(url: string, world: WorldProcess) {
    super('history')
    this.#url = url
    this.#world = world
  }

  /** Starts one more worker. */
  startWorker(options: Partial<CrewWorkerOptions> = {}): WorkerProcess {
    const history = this.#newHistory()
    const given: CrewWorkerOptions = {
      name: `worker-${this.#histories}`,
      url: this.#url,
      world: this.#world.port,
      history,
      lease,
      ...options,
    }
    return this.startProgram('crew-worker', [JSON.stringify(given)])
  }

  /** Starts the client. `url` may lead to a proxy. */
  async connect(url = this.#url): Promise<Runtime> {
    const history = historyFile(this.#newHistory())
    const recorder = recordHistory({ process: 'client', write: history.write })
    const store = recorder.store(postgresStore({ connectionString: url, migrate: false, poolSize: 4 }))
    const options = { agents: this.agents(), store, attempts, concurrency: 0, onError: (error: unknown) => this.faults.push(error) }
    const runtime = recorder.runtime(createRuntime(options))
    await runtime.start()
    this.#client = { runtime, store }
    return runtime
  }

  agents() {
    return [payingAgent({ world: this.#world }), holdingAgent({ world: this.#world })]
  }

  /** Sends an input until it is accepted. */
  async send(session: Session, inputId: string): Promise<RunHandle> {
    const run = await persistently(() => session.send('go', { id: inputId }))
    this.#runs.push(run.runId)
    this.#inputs.push({ method: 'send', session: session.key, inputId, content: 'go', isNew: run.accepted !== 'duplicate' })
    return run
  }

  /** Sends this many inputs to each of the sessions at once, and waits until each is answered. */
  async sendAll(sessions: number, inputs: number): Promise<void> {
    await Promise.all(Array.from({ length: sessions }, (_, place) => this.#sendEach(`room:${place}`, inputs)))
  }

  async #sendEach(key: string, inputs: number): Promise<void> {
    const session = this.#connected.runtime.session(key)
    const runs: RunHandle[] = []
    for (let input = 0; input < inputs; input++) runs.push(await this.send(session, `${key} ${input}`))
    for (const { runId } of runs) await persistently(() => settleDoubts(session, runId))
  }

  /** Waits until nothing happens any more, kills the workers, and returns everything that can be observed. */
  async end(): Promise<CrashEnd> {
    const { runtime, store } = this.#connected
    while (!(await isAtRest(store))) await setTimeout(20)
    await this.killAll()
    const sessions = await readSessions(store)
    const effects = await this.#world.quietEffects()
    const runIds = new Set(sessions.flatMap(({ runs }) => runs.map((run) => run.id)))
    await runtime.stop()
    this.#client = undefined
    // A worker that was killed while it started has no history.
    accepted(
      readHistory(
        this.#historyFiles()
          .filter((file) => existsSync(file))
          .map((file) => readFileSync(file, 'utf8')),
      ),
      { atRest: true },
    )
    expect(this.#inputs.length).toBe(this.#runs.length)
    const world = { effects: effects.filter(({ runId }) => runIds.has(runId)), notes: new Map() }
    return { sessions, world, acknowledged: { runs: this.#runs, answers: new Map(), inputs: this.#inputs }, staleWrites: [] }
  }

  override async remove(): Promise<void> {
    await this.#client?.runtime.stop({ graceMs: 0 })
    await super.remove()
  }

  get #connected(): { readonly runtime: Runtime; readonly store: SessionStore } {
    if (!this.#client) throw new TypeError('Connect the client first.')
    return this.#client
  }

  #newHistory(): string {
    this.#histories += 1
    return this.#historyFiles().at(-1) ?? ''
  }

  #historyFiles(): readonly string[] {
    return Array.from({ length: this.#histories }, (_, index) => `${this.store}-${index + 1}.jsonl`)
  }
}

const mostTries = 1_000

/** Retries while the database does not answer. */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === mostTries || !SessionError.isInstance(error) || !error.retryable) throw error
      await setTimeout(50)
    }
  }
}
