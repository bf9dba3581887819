import type { SessionStore } from '../../../src/contract/session-store.ts'
import { readSessions, isAtRest } from '../../../../testing/src/crash-kit/read-end.ts'
import type { CrashEnd } from '../../../../testing/src/crash-kit/types.ts'
import { historyOf } from '../history/read-history.ts'
import type { History } from '../history/operations.ts'
import { ProgramTime } from '../../../../testing/src/program-time.ts'
import { untilQuiet } from '../../../../testing/src/until-quiet.ts'
import { warmUp } from '../../../../testing/src/warm-up.ts'
import { Clients } from './clients.ts'
import { Cluster, type SimulatedStore } from './cluster.ts'
import { simulationInvariants } from './invariants.ts'
import type { RunSimulationOptions } from './options.ts'
import type { SharedHandle } from './shared-handle.ts'
import { SharedStore } from './shared-store.ts'
import type { SimulationEnd } from './simulation-end.ts'
import type { Simulation } from './simulation.ts'
import { WaitWatch } from './wait-watch.ts'

/** Number of points, broken invariants, trace and history of one simulation. */
export interface SimulationVerdict {
  /** Number of store operations. Each is a point at which a process can be disturbed. */
  readonly points: number
  readonly failures: readonly { readonly invariant: string; readonly problems: readonly string[] }[]
  /** Trace in order, with the passed time of each line. */
  readonly trace: readonly string[]
  readonly history: History
}

const lookMs = 500
const longestMs = 120_000
/** Longest time in ms until a follower sees an event: a reader polls after a second without hints, plus delays of messages. */
const longestUntilSeenMs = 20_000

/** Runs one simulation until it is at rest, and checks its end. */
export async function runSimulation(simulation: Simulation, options: RunSimulationOptions = {}): Promise<SimulationVerdict> {
  await warmUp()
  const time = new ProgramTime()
  const store = await openStore(time, options)
  const cluster = new Cluster(simulation, time, store)
  try {
    const end = await new Play(simulation, cluster, store.base).play()
    const failures = (options.invariants ?? simulationInvariants).flatMap(({ name, check }) => {
      const problems = check(end)
      return problems.length > 0 ? [{ invariant: name, problems }] : []
    })
    return { points: cluster.network.count, failures, trace: cluster.trace, history: end.history }
  } finally {
    cluster.clear()
    await store.base.close()
  }
}

async function openStore({ clock }: ProgramTime, { store, fault }: RunSimulationOptions): Promise<SimulatedStore> {
  const { client, shared: mistakes = {} } = fault?.plant() ?? {}
  const open = { namespace: 'default', clock, owner: 'simulation' }
  if (!store) {
    const shared = new SharedStore(clock, mistakes)
    await shared.open(open)
    return { base: shared.base, handle: (process) => shared.handle(process), client }
  }
  const base = store()
  await base.open(open)
  const handle = new Proxy(base, {
    get: (target, name) => (name === 'completeTicket' ? async () => undefined : (Reflect.get(target, name) as unknown)),
  }) as SharedHandle
  return { base, handle: () => handle, client }
}

class Play {
  readonly #simulation: Simulation
  readonly #cluster: Cluster
  readonly #store: SessionStore
  readonly #clients: Clients
  readonly #waits: WaitWatch
  #stepsLeft: number

  constructor(simulation: Simulation, cluster: Cluster, store: SessionStore) {
    this.#simulation = simulation
    this.#cluster = cluster
    this.#store = store
    this.#clients = new Clients(cluster)
    this.#waits = new WaitWatch(cluster)
    this.#stepsLeft = simulation.steps.length
  }

  async play(): Promise<SimulationEnd> {
    this.#cluster.start()
    this.#schedule()
    const rests = await this.#untilRest()
    const keys = [...new Set(this.#simulation.steps.map(({ to }) => to))]
    this.#clients.readAll(keys)
    await this.#pass(2 * lookMs)
    for (let waited = 0; waited < longestUntilSeenMs && !(await this.#isAllSeen()); waited += lookMs) await this.#pass(lookMs)
    return this.#look(rests)
  }

  #schedule(): void {
    const { time } = this.#cluster
    let atMs = time.now
    for (const step of this.#simulation.steps) {
      atMs += step.afterMs
      time.clock.setTimer(atMs, () => {
        this.#stepsLeft -= 1
        this.#clients.perform(step)
      })
    }
  }

  async #untilRest(): Promise<boolean> {
    const { time } = this.#cluster
    while (time.passed < longestMs && !this.#hasFailed) {
      await this.#pass(lookMs)
      await this.#waits.look(this.#store, lookMs)
      if (this.#stepsLeft === 0 && !this.#clients.isWaiting && this.#cluster.isCalm && (await isAtRest(this.#store))) return true
    }
    return false
  }

  /** Returns true if each follower has read the last event of its session. */
  async #isAllSeen(): Promise<boolean> {
    const ends = await Promise.all(
      this.#clients.followers.map(async ({ session, seq }) => (await this.#store.readEvents(session, 0, 1)).lastSeq === seq),
    )
    return ends.every(Boolean)
  }

  /** True if the simulation has already failed. It then stops. */
  get #hasFailed(): boolean {
    const { leases, tenants, staleWrites } = this.#cluster
    return leases.problems.length + tenants.problems.length + staleWrites.length + this.#waits.problems.length > 0
  }

  async #pass(ms: number): Promise<void> {
    await this.#cluster.time.pass(ms, untilQuiet)
  }

  async #look(rests: boolean): Promise<SimulationEnd> {
    const { world, staleWrites, leases, tenants, faults, history } = this.#cluster
    const { accepted, surprises, followers } = this.#clients
    const sessions = await readSessions(this.#store)
    const end: CrashEnd = {
      world: { effects: world.effects, notes: world.notes },
      sessions,
      acknowledged: { runs: accepted.map(({ runId }) => runId), answers: new Map(), inputs: accepted },
      staleWrites,
      ...(rests || this.#hasFailed
        ? {}
        : { stuck: `the simulation is not at rest after ${longestMs} ms: a run is still active or a client still waits` }),
    }
    return {
      ...end,
      simulation: this.#simulation,
      history: historyOf(history),
      rests,
      surprises,
      faults,
      followers,
      leaseProblems: leases.problems,
      tenantProblems: tenants.problems,
      waitProblems: this.#waits.problems,
    }
  }
}
