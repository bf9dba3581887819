import { BridgeError } from '../../errors.ts'
import { standardRedaction } from '../../redact.ts'
import type { WorkerHealth } from '../executor.ts'
import type { ConnectionListeners, WorkerConnection, WorkerHost } from './connection.ts'
import type { Hello } from './hello.ts'
import { launchWorker } from './launch.ts'
import type { Launch } from './launch.ts'
import type { WorkerSettings } from './options.ts'
import { createRestartWindow } from './restart-window.ts'

/** A ready process of a worker. */
export interface LiveWorker {
  /** Number of this start of the instance. */
  readonly generation: number
  readonly connection: WorkerConnection
  readonly hello: Hello
  /** Aborted with the reason once the process can no longer be used. */
  readonly gone: AbortSignal
}

export interface SupervisorOptions {
  readonly settings: WorkerSettings
  readonly instance: number
  readonly host: WorkerHost
  readonly listeners: (generation: number) => ConnectionListeners
  /** Called when a ready process is lost, together with its running work. */
  readonly onLost: (reason: string) => void
}

type State = WorkerHealth['state']

/** Keeps one instance of a worker running: starting → ready → waiting → starting …, until it is stopped or a restart cannot help. */
export interface Supervisor {
  readonly state: State
  readonly restarts: number
  readonly live: LiveWorker | undefined
  /** Reason why it is not ready, if a start failed or the process was lost. */
  readonly reason: string | undefined
  /** Resolves once no start is in progress. */
  settled(): Promise<void>
  /** Handshake of the most recent process that was ready. */
  readonly hello: Hello | undefined
  start(): void
  /** Returns the ready process. Waits while one is being started. Rejects if none is expected soon. */
  ready(): Promise<LiveWorker>
  /** Resolves after the process has exited. */
  stop(): Promise<void>
  /** Kills the process at once. */
  kill(): void
}

const loggedStderrBytes = 8 * 1024

export function superviseWorker({ settings, instance, host, listeners, onLost }: SupervisorOptions): Supervisor {
  const { clock, logger } = host
  const window = createRestartWindow(settings.restart)
  let state: State = 'stopped'
  let generation = 0
  let live: LiveWorker | undefined
  let gone = new AbortController()
  let hello: Hello | undefined
  let launch: Launch | undefined
  let refusal: BridgeError | undefined
  let waiting = nextWaiting()
  let running: Promise<void> | undefined
  let failure: string | undefined
  let started = Promise.withResolvers<void>()
  let stopping = false
  let wake: (() => void) | undefined

  function become(to: State, reason?: string): void {
    state = to
    if (to === 'starting') started = Promise.withResolvers()
    else started.resolve()
    const about = { workerId: settings.id, instance, generation, to, restarts: window.total }
    host.notify({ type: 'worker-changed', ...about, ...(reason !== undefined && { reason }) })
    // A new process may describe itself differently.
    host.agentsChanged()
  }

  /** Rejects all callers that wait for a process. */
  function refuse(error: BridgeError): void {
    refusal = error
    waiting.reject(error)
    waiting = nextWaiting()
  }

  async function keepRunning(): Promise<void> {
    while (!stopping) {
      const end = await runOnce()
      if (stopping) return
      if (BridgeError.isInstance(end)) {
        // A restart would fail in the same way.
        become('unavailable', end.code)
        return refuse(end)
      }
      await pauseAfter(end)
      window.restarted(clock.now())
    }
  }

  /** Starts a process and waits for its end. Returns the reason; a `BridgeError` means that a restart cannot help. */
  async function runOnce(): Promise<string | BridgeError> {
    generation += 1
    refusal = undefined
    become('starting')
    const current = launched()
    if (typeof current === 'string') return current
    launch = current
    const refused = await serve(current).catch((error: unknown) => (BridgeError.isInstance(error) ? error : undefined))
    if (live) lose(current.loss())
    await current.end()
    failure = refused?.message ?? current.startLoss() ?? current.loss()
    if (!stopping) logLoss(failure, current)
    return refused ?? failure
  }

  /** Returns the reason if the process cannot be started now. */
  function launched(): Launch | string {
    try {
      return launchWorker(settings, host, listeners(generation))
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error)
      logger.warn({ workerId: settings.id, instance, generation, reason: failure }, 'worker not started')
      return failure
    }
  }

  async function serve(current: Launch): Promise<undefined> {
    hello = await current.ready
    failure = undefined
    gone = new AbortController()
    live = { generation, connection: current.connection, hello, gone: gone.signal }
    become('ready')
    waiting.resolve(live)
    waiting = nextWaiting()
    await current.lost
  }

  function lose(reason: string): void {
    live = undefined
    gone.abort(reason)
    onLost(reason)
  }

  function logLoss(reason: string, launched: Launch): void {
    const stderr = standardRedaction.text(launched.stderr(loggedStderrBytes))
    const about = { workerId: settings.id, instance, generation, reason, stderr }
    logger.warn(about, 'worker lost')
  }

  async function pauseAfter(reason: string): Promise<void> {
    const { state: next, delayMs } = window.next(clock.now())
    become(next, reason)
    if (next === 'unavailable') refuse(unreachable(reason, delayMs))
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + delayMs, resolve)
      wake = () => {
        cancel()
        resolve()
      }
    })
    wake = undefined
  }

  function unreachable(reason: string, retryAfterMs?: number): BridgeError {
    return new BridgeError('TRANSPORT', `Worker ${settings.id} is not running: ${reason}`, {
      details: { agentId: settings.id, reason: 'worker-unavailable', outcome: 'none', ...(retryAfterMs !== undefined && { retryAfterMs }) },
    })
  }

  return {
    get state() {
      return state
    },
    get restarts() {
      return window.total
    },
    get live() {
      return live
    },
    get hello() {
      return hello
    },
    get reason() {
      return state === 'stopped' ? 'stopped' : failure
    },
    settled: () => (state === 'starting' ? started.promise : Promise.resolve()),
    start: () => void (running ??= keepRunning()),
    ready() {
      if (live) return Promise.resolve(live)
      if (stopping || !running) return Promise.reject(unreachable('stopped'))
      return refusal ? Promise.reject(refusal) : waiting.promise
    },
    async stop() {
      stopping = true
      wake?.()
      await Promise.all([launch?.end(), running])
      become('stopped')
      refuse(unreachable('stopped'))
    },
    kill: () => launch?.kill(),
  }
}

/** Ignores the rejection if no caller is waiting. */
function nextWaiting(): PromiseWithResolvers<LiveWorker> {
  const waiting = Promise.withResolvers<LiveWorker>()
  waiting.promise.catch(() => {})
  return waiting
}
