import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createRuntime, type Runtime } from '@bowline/sessions'
import { historyFile } from '../explorers/history/history-file.ts'
import { readHistory } from '../explorers/history/read-history.ts'
import { recordHistory } from '../explorers/history/record-history.ts'
import { type AcknowledgedInput, type CrashEnd, standardInvariants } from '@bowline/testing/crashes'
import { expect } from 'vitest'
import { isAtRest, readSessions } from '../../../testing/src/crash-kit/read-end.ts'
import { terminalStatuses, type RunRecord } from '../../src/contract/records.ts'
import { busyAgents } from '../fixtures/busy-agents.ts'
import { attempts, payingAgent } from '../fixtures/paying-agent.ts'
import { pay, settleDoubts } from '../fixtures/paying-client.ts'
import { minutesLater } from '../fixtures/minutes-later.ts'
import { storeAt } from '../fixtures/store-at.ts'
import { accepted } from '../history/recorded-runs.ts'
import { Workplace, type WorkerMessage, type WorkerProcess } from './worker-process.ts'
import type { WorldProcess } from './world-process.ts'

/** A workplace of processes that act on the outside world, with what they reported before they died. */
export class PayingPlace extends Workplace {
  readonly accepted: string[] = []
  readonly #inputs: AcknowledgedInput[] = []
  readonly #world: WorldProcess
  readonly #sessions: number
  #starts = 0

  constructor(storeName: string, world: WorldProcess, sessions: number) {
    super(storeName)
    this.#world = world
    this.#sessions = sessions
  }

  /** Starts a process. With boundary 0 it works until it is killed. */
  startPaying(boundary = 0): WorkerProcess {
    this.#starts += 1
    return this.startProgram(
      'paying-worker',
      [this.store, this.#world.port, this.#starts, this.#sessions, boundary, this.#historyOf(this.#starts)].map(String),
    )
  }

  /** Reads the rest of what a dead process printed, and waits until its effects have reached the outside world. */
  async bury(worker: WorkerProcess, said: readonly WorkerMessage[] = []): Promise<WorkerMessage[]> {
    const all = [...said, ...(await worker.rest())]
    for (const message of all) {
      if (message.type === 'accepted') this.accepted.push(message.runId)
      if (message.type === 'input') this.#inputs.push(message.input)
    }
    await this.#world.quietEffects()
    return all
  }

  #historyOf(start: number): string {
    return `${this.store}-history-${start}.jsonl`
  }

  /** Checks that the calls and answers of all processes together agree with the model of a session. */
  #checkHistory(): void {
    const files = Array.from({ length: this.#starts + 1 }, (_, index) => this.#historyOf(index + 1))
    accepted(readHistory(files.map((file) => readFileSync(file, 'utf8'))), { atRest: true })
  }

  /** Finishes all runs in this process, and returns everything that can be observed. */
  async finish(): Promise<CrashEnd> {
    const faults: unknown[] = []
    const clock = minutesLater(this.#starts + 1)
    const history = historyFile(this.#historyOf(this.#starts + 1))
    const recorder = recordHistory({ process: 'finish', write: history.write })
    const store = recorder.store(storeAt(this.store))
    const agents = [payingAgent({ world: this.#world }), ...busyAgents(this.#world, store)]
    const runtime = recorder.runtime(createRuntime({ agents, store, attempts, clock, onError: (error) => faults.push(error) }))
    await runtime.start()
    try {
      await Promise.all(this.#keys().map((key) => endOpenRuns(runtime, key)))
      // The session must still accept an input.
      await pay(runtime.session('room:0'), 'last', (runId) => this.accepted.push(runId))
      while (!(await isAtRest(store)) || (await store.due(1)).timers.length > 0) await setTimeout(10)
      return await this.#readEnd(runtime)
    } finally {
      await runtime.stop()
      history.close()
      expect(faults).toEqual([])
      this.#checkHistory()
    }
  }

  #keys(): string[] {
    return Array.from({ length: this.#sessions }, (_, index) => `room:${index}`)
  }

  async #readEnd({ store }: Runtime): Promise<CrashEnd> {
    const sessions = await readSessions(store)
    const runIds = new Set(sessions.flatMap(({ runs }) => runs.map((run) => run.id)))
    const effects = (await this.#world.quietEffects()).filter((effect) => runIds.has(effect.runId))
    return {
      sessions,
      world: { effects, notes: new Map() },
      acknowledged: { runs: this.accepted, answers: new Map(), inputs: this.#inputs },
      staleWrites: [],
    }
  }
}

async function endOpenRuns(runtime: Runtime, key: string): Promise<void> {
  const session = runtime.session(key)
  for (let open = (await session.info())?.openRun; open; open = (await session.info())?.openRun) {
    await settleDoubts(session, open.runId)
    // A run that waits for its deadline is read at once: yield to its timer.
    await setTimeout(1)
  }
}

export interface Figures {
  readonly runs: number
  readonly effects: number
  readonly unknown: number
}

/** Expects every promise to hold that a death could break. */
export function expectSound(end: CrashEnd): Figures {
  for (const { name, check } of standardInvariants) expect(check(end), name).toEqual([])
  const runs = end.sessions.flatMap((session) => session.runs)
  const calls = end.sessions.flatMap((session) => session.calls)
  expect(runs.filter(({ status }) => !terminalStatuses.some((each) => each === status))).toEqual([])
  // Aborted by an interrupting input, or because another run has reported its tasks.
  const mayBeAborted = ({ stop, kind }: RunRecord): boolean => stop !== undefined || kind === 'notification'
  expect(runs.filter((run) => run.status !== 'completed' && !(run.status === 'aborted' && mayBeAborted(run)))).toEqual([])
  const keysOf = (parts: readonly { readonly idempotencyKey: string }[]) =>
    [...new Set(parts.map((part) => part.idempotencyKey))].filter((key) => key.endsWith('-index') || key.endsWith('-stamp')).sort()
  const cancelled = keysOf(calls.filter(({ status }) => status === 'cancelled'))
  const acted = keysOf(end.world.effects)
  expect(acted.filter((key) => !cancelled.includes(key))).toEqual(keysOf(calls).filter((key) => !cancelled.includes(key)))
  const unknown = calls.filter(({ status }) => status === 'unknown').length
  return { runs: runs.length, effects: end.world.effects.length, unknown }
}
