import { missingPackage } from '@bowline/llm/arguments'
import type { SessionContext } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { givenFields } from '../given-fields.ts'
import type { BridgeExecutor, DiscoveredAgent, ExecutorHost, ExecutorLimits } from './executor.ts'
import { workerSettings } from './worker/options.ts'
import type { OptionsPlace, WorkerExecutorOptions, WorkerSettings } from './worker/options.ts'
import type { Worker } from './worker/worker.ts'

// A worker manages its own sessions, so they do not expire in the bridge.
const standardLimits: Required<ExecutorLimits> = { ttlMs: 0, idleMs: 0, maxSessions: 1000, inactivityMs: 2 * 60_000 }
const refreshMs = 2000

/**
 * Creates an executor for agents in child processes. A worker is any program that speaks the Agent Client Protocol v1, or a module
 * that calls `serveWorker`. A lost process is restarted. Throws `CONFIG`.
 */
export function workerExecutor(options: WorkerExecutorOptions): BridgeExecutor {
  return workersIn({ path: 'workerExecutor.options', folder: '.' }, options)
}

/** Like `workerExecutor`, for workers of a configuration file. */
export function workersIn(place: OptionsPlace, options: WorkerExecutorOptions): BridgeExecutor {
  const settings = workerSettings(options, place)
  const workers = new Map<string, Worker>()
  let host: ExecutorHost | undefined

  function workerOf({ agentId }: SessionContext): Worker {
    const worker = workers.get(agentId)
    if (!worker) throw new BridgeError('NOT_FOUND', `No agent ${agentId}`, { details: { agentId } })
    return worker
  }

  const all = (): readonly Worker[] => [...workers.values()]
  const isUsable = ({ health: { state } }: Worker): boolean => state === 'ready'

  return {
    specificationVersion: 'v1',
    kind: 'worker',
    limits: limitsOf(options),
    async start(given) {
      // Loading the protocol code takes a third of a start, so it is loaded only if there are workers.
      const { client: acpClient } = await import('@agentclientprotocol/sdk').catch(withoutProtocol)
      const { createWorker } = await import('./worker/worker.ts')
      host = given
      for (const each of settings) workers.set(each.id, createWorker(each, { ...given, acpClient }))
      for (const worker of all()) worker.start()
    },
    async stop({ deadlineMs }) {
      if (!host) return
      const stopped = Promise.all(all().map((worker) => worker.stop()))
      const kill = (): void => all().forEach((worker) => worker.kill())
      if (deadlineMs <= 0) kill()
      const cancel = host.clock.setTimer(host.clock.now() + deadlineMs, kill, { hold: true })
      await stopped
      cancel()
    },
    agents: () => settings.map((each) => workers.get(each.id)?.describe() ?? notStarted(each)),
    health: () => ({ healthy: host !== undefined && all().every(isUsable), workers: all().map((worker) => worker.health) }),
    async refresh({ waitMs = refreshMs } = {}) {
      const { clock } = host ?? {}
      if (!clock) return
      const late = Promise.withResolvers<void>()
      const cancel = clock.setTimer(clock.now() + waitMs, late.resolve, { hold: true })
      await Promise.race([Promise.all(all().map((worker) => worker.settled())), late.promise])
      cancel()
    },
    open: (session, how) => workerOf(session).open(session, how),
    prompt: (request) => workerOf(request.session).prompt(request),
    answer: (request) => workerOf(request.session).answer(request),
    cancel: (request) => workerOf(request.session).cancel(request),
    detach: (session) =>
      void workerOf(session)
        .close(session, { detach: true })
        .catch(() => {}),
    close: (session, reason) => workerOf(session).close(session, { reason }),
  }
}

const withoutProtocol = missingPackage('@agentclientprotocol/sdk', (message) => new BridgeError('CONFIG', `workerExecutor ${message}`))

function limitsOf({ ttlMs, idleMs, maxSessions, inactivityMs }: WorkerExecutorOptions): ExecutorLimits {
  return { ...standardLimits, ...givenFields({ ttlMs, idleMs, maxSessions, inactivityMs }) }
}

function notStarted({ id, capabilities = [] }: WorkerSettings): DiscoveredAgent {
  return { id, capabilities, status: 'unavailable', reason: 'not started', durable: false }
}
