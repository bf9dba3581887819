import { BridgeError } from '../../errors.ts'
import type { DiscoveredAgent, WorkerHealth } from '../executor.ts'
import type { WorkerHost } from './connection.ts'
import type { WorkerSettings } from './options.ts'
import { superviseWorker } from './supervisor.ts'
import type { LiveWorker, Supervisor } from './supervisor.ts'
import type { WorkerSessions } from './worker-sessions.ts'

/** The processes of one worker. */
export interface Instances {
  start(): void
  stop(): Promise<void>
  kill(): void
  settled(): Promise<unknown>
  health(): Omit<WorkerHealth, 'id'>
  describe(): DiscoveredAgent
  /** Returns undefined while that instance is not ready. */
  live(instance: number): LiveWorker | undefined
  /** Waits until that instance is ready. Rejects if it is not expected to be ready soon. */
  ready(instance: number): Promise<LiveWorker>
  /** Opens a session on the ready instance with the fewest sessions. Throws `CAPACITY` if all are full. */
  withLeast(open: (live: LiveWorker, instance: number) => Promise<void>): Promise<void>
}

export interface InstancesOptions {
  readonly settings: WorkerSettings
  readonly host: WorkerHost
  readonly sessions: WorkerSessions
  readonly onLost: (instance: number, reason: string) => void
}

// A worker has the state of its best instance; states from best to worst.
const states: readonly WorkerHealth['state'][] = ['ready', 'starting', 'waiting', 'unavailable', 'stopped']

export function createInstances({ settings, host, sessions, onLost }: InstancesOptions): Instances {
  const { id } = settings
  const supervisors = Array.from({ length: settings.instances }, (_, instance): Supervisor =>
    superviseWorker({
      settings,
      instance,
      host,
      listeners: (generation) => ({
        onUpdate: (update, bytes) => sessions.onUpdate(instance, generation, update, bytes),
        onPermission: (request) => sessions.onPermission(instance, generation, request),
      }),
      onLost: (reason) => onLost(instance, reason),
    }),
  )
  const opening = supervisors.map(() => 0)

  const load = (instance: number): number => sessions.of(instance).length + (opening[instance] ?? 0)
  const supervisor = (instance: number): Supervisor => supervisors[instance] as Supervisor
  const hello = () => supervisors.find((each) => each.hello)?.hello

  /** Returns the instance with the best state. */
  function best(): Supervisor {
    const state = states.find((each) => supervisors.some((one) => one.state === each))
    return supervisors.find((one) => one.state === state) as Supervisor
  }

  /** While a failed instance is restarted, it stays `unavailable` until it is ready. */
  function status({ state, reason }: Supervisor): DiscoveredAgent['status'] {
    if (state === 'starting' && reason === undefined) return state
    return state !== 'ready' ? 'unavailable' : isBusy() ? 'busy' : 'ready'
  }

  /** Returns the least loaded ready instance. Waits for the first one if none is ready. */
  async function least(): Promise<LiveWorker & { readonly instance: number }> {
    await Promise.any(supervisors.map((each) => each.ready())).catch(throwFirst)
    const ready = supervisors.flatMap(({ live }, instance) => (live ? [{ ...live, instance }] : []))
    const [first] = ready.sort((a, b) => load(a.instance) - load(b.instance))
    if (!first) return least()
    if (load(first.instance) < first.hello.maxConcurrentSessions) return first
    throw new BridgeError('CAPACITY', `The limit of sessions of worker ${id} is reached: close one, or retry later`, {
      details: { agentId: id },
    })
  }

  function isBusy(): boolean {
    const limit = hello()?.maxConcurrentSessions ?? Infinity
    return supervisors.every((_, instance) => load(instance) >= limit)
  }

  return {
    start: () => supervisors.forEach((each) => each.start()),
    stop: async () => void (await Promise.all(supervisors.map((each) => each.stop()))),
    kill: () => supervisors.forEach((each) => each.kill()),
    settled: () => Promise.all(supervisors.map((each) => each.settled())),
    health() {
      const { state, reason } = best()
      const restarts = supervisors.reduce((sum, each) => sum + each.restarts, 0)
      return { state, restarts, ...(reason !== undefined && { reason }) }
    },
    describe() {
      const known = hello()
      const { reason } = best()
      return {
        ...(known?.info ?? { id }),
        capabilities: known?.capabilities ?? settings.capabilities ?? [],
        status: status(best()),
        ...(reason !== undefined && { reason }),
        // Known only after the first start, so it is read lazily.
        get durable() {
          return hello()?.durable ?? false
        },
        ...(known?.providers?.length && { providers: known.providers }),
      }
    },
    live: (instance) => supervisor(instance).live,
    ready: (instance) => supervisor(instance).ready(),
    async withLeast(open) {
      const { instance, ...live } = await least()
      opening[instance] = (opening[instance] ?? 0) + 1
      try {
        await open(live, instance)
      } finally {
        opening[instance] = (opening[instance] ?? 0) - 1
      }
    },
  }
}

/** Rethrows the first of several errors. */
function throwFirst(error: unknown): never {
  throw (error as AggregateError).errors[0]
}
