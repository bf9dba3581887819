import { createRuntime, type Runtime } from '@bowline/sessions'
import { standardInvariants, type CrashEnd } from '@bowline/sessions/testing'
import { expect } from 'vitest'
import { readSessions } from '../../src/testing/crash-kit/read-end.ts'
import { terminalStatuses } from '../../src/store/records.ts'
import { attempts, payingAgent } from '../fixtures/paying-agent.ts'
import { pay, settleDoubts } from '../fixtures/paying-client.ts'
import { minutesLater } from '../fixtures/minutes-later.ts'
import { storeAt } from '../fixtures/store-at.ts'
import { Workplace, type WorkerMessage, type WorkerProcess } from './worker-process.ts'
import type { WorldProcess } from './world-process.ts'

/** A workplace of processes that act on the world outside, and what they were told before they died. */
export class PayingPlace extends Workplace {
  readonly accepted: string[] = []
  readonly #world: WorldProcess
  readonly #sessions: number
  #starts = 0

  constructor(storeName: string, world: WorldProcess, sessions: number) {
    super(storeName)
    this.#world = world
    this.#sessions = sessions
  }

  /** Boundary 0: it works until it is killed. */
  startPaying(boundary = 0): WorkerProcess {
    this.#starts += 1
    return this.startProgram('paying-worker', [this.store, this.#world.port, this.#starts, this.#sessions, boundary].map(String))
  }

  /** What it said is known, and what it sent has reached the world. */
  async bury(worker: WorkerProcess, said: readonly WorkerMessage[] = []): Promise<WorkerMessage[]> {
    const all = [...said, ...(await worker.rest())]
    for (const message of all) if (message.type === 'accepted') this.accepted.push(message.runId)
    await this.#world.quietEffects()
    return all
  }

  /** Takes everything up in this process, brings it to its end, and gives everything that there is to see. */
  async finish(): Promise<CrashEnd> {
    const faults: unknown[] = []
    const agent = payingAgent({ world: this.#world })
    const clock = minutesLater(this.#starts + 1)
    const store = storeAt(this.store)
    const runtime = createRuntime({ agents: [agent], store, attempts, clock, onError: (error) => faults.push(error) })
    await runtime.start()
    try {
      await Promise.all(this.#keys().map((key) => endOpenRun(runtime, key)))
      // Whatever happened to it, the session is as good as new.
      await pay(runtime.session('room:0'), 'last', (runId) => this.accepted.push(runId))
      return await this.#readEnd(runtime)
    } finally {
      await runtime.stop()
      expect(faults).toEqual([])
    }
  }

  #keys(): string[] {
    return Array.from({ length: this.#sessions }, (_, index) => `room:${index}`)
  }

  async #readEnd({ store }: Runtime): Promise<CrashEnd> {
    const sessions = await readSessions(store)
    const runIds = new Set(sessions.flatMap(({ runs }) => runs.map((run) => run.id)))
    const effects = (await this.#world.quietEffects()).filter((effect) => runIds.has(effect.runId))
    return { sessions, world: { effects, notes: new Map() }, acknowledged: { runs: this.accepted, answers: new Map(), inputs: [] }, staleWrites: [] }
  }
}

async function endOpenRun(runtime: Runtime, key: string): Promise<void> {
  const session = runtime.session(key)
  const open = (await session.info())?.openRun
  if (open) await settleDoubts(session, open.runId)
}

export interface Figures {
  readonly runs: number
  readonly effects: number
  readonly unknown: number
}

/** Every promise that a death could break. */
export function expectSound(end: CrashEnd): Figures {
  for (const { name, check } of standardInvariants) expect(check(end), name).toEqual([])
  const runs = end.sessions.flatMap((session) => session.runs)
  const calls = end.sessions.flatMap((session) => session.calls)
  expect(runs.filter(({ status }) => !terminalStatuses.some((each) => each === status))).toEqual([])
  expect(runs.filter(({ status }) => status !== 'completed')).toEqual([])
  const keysOf = (names: readonly string[], parts: readonly { readonly idempotencyKey: string }[]) =>
    [...new Set(parts.map((part) => part.idempotencyKey))].filter((key) => names.some((name) => key.endsWith(`-${name}`))).sort()
  const repeatable = ['index', 'stamp']
  expect(keysOf(repeatable, end.world.effects)).toEqual(keysOf(repeatable, calls))
  const unknown = calls.filter(({ status }) => status === 'unknown').length
  return { runs: runs.length, effects: end.world.effects.length, unknown }
}
