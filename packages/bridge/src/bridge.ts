import type { Clock } from '@bowline/llm'
import manifest from '../package.json' with { type: 'json' }
import { AgentDirectory } from './agent-directory.ts'
import { bridgeMark, callChecks } from './arguments.ts'
import type { ListedAgent } from './bridge-contract.ts'
import type { Bridge, BridgeCounters, BridgeHealth, BridgeLimits, BridgeResult, BridgeRun, BridgeSession } from './bridge-contract.ts'
import type { CancelInput, CancelReceipt, CloseInput, CloseReceipt, CreateSessionInput, DelegateInput } from './bridge-contract.ts'
import type { OwnerOption, PromptInput, RequestFilter, RequestPage, RequestQuery, SessionFilter, SessionPage } from './bridge-contract.ts'
import { coreOf } from './core.ts'
import type { Core } from './core.ts'
import { BridgeError } from './errors.ts'
import type { BridgeExecutor, ExecutorHost } from './executors/executor.ts'
import { givenFields } from './given-fields.ts'
import { checkDiscoverQuery, checkHealthOptions, checkRefreshOptions, checkSessionOptions, checkStopOptions } from './input/check-input.ts'
import { contextLogger } from './observer.ts'
import { OpenCalls } from './open-calls.ts'
import { cancel } from './operations/cancel.ts'
import { close } from './operations/close.ts'
import { createSession } from './operations/create-session.ts'
import { delegate } from './operations/delegate.ts'
import type { BridgeContext } from './operations/bridge-context.ts'
import { listRequests } from './operations/list-requests.ts'
import { listSessions } from './operations/list-sessions.ts'
import { getRequest } from './operations/get-request.ts'
import { prompt } from './operations/prompt.ts'
import { asTold, failed } from './operations/refuse.ts'
import { stopMarginMs, stopWork } from './operations/stop.ts'
import { capacityOf, localOwner } from './owner-limits.ts'
import { Retention } from './records/retention.ts'
import { bridgeRedaction, keepRedaction } from './redact.ts'
import { AdmissionQueue } from './requests/admission-queue.ts'
import { RequestRegistry } from './requests/request-registry.ts'
import { settlesWithin } from './settles-within.ts'
import { Reaper } from './sessions/reaper.ts'
import { sessionView } from './sessions/session-record.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { settingsFrom } from './settings.ts'
import type { BridgeOptions, BridgeSettings } from './settings.ts'

/**
 * Creates a bridge over its executors. Does no I/O: `start()` starts the executors. Throws a `BridgeError` with code `CONFIG`
 * for an unknown option or a wrong value.
 */
export function createBridge(options: BridgeOptions = {}): Bridge {
  return new ExecutorBridge(settingsFrom(options))
}

const refreshEveryMs = 1000

class ExecutorBridge implements Bridge {
  readonly limits: BridgeLimits
  readonly clock: Clock
  readonly #settings: BridgeSettings
  readonly #directory: AgentDirectory
  readonly #core: Core
  readonly #context: BridgeContext
  readonly #reaper: Reaper
  readonly #calls = new OpenCalls()
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #state: 'new' | 'started' | 'stopped' = 'new'
  #startedAt = 0
  #refreshedAt = Number.NEGATIVE_INFINITY

  constructor(given: BridgeSettings) {
    const redaction = bridgeRedaction(given.redact)
    keepRedaction(this, redaction)
    Object.assign(this, bridgeMark)
    const settings = { ...given, logger: contextLogger(given.logger, redaction) }
    const { waitMs, heartbeatMs, maxTimeoutMs, clock } = settings
    this.limits = { waitMs, heartbeatMs, maxTimeoutMs }
    this.clock = clock
    this.#settings = settings
    this.#directory = new AgentDirectory(settings)
    this.#core = coreOf(settings, redaction)
    const retention = new Retention({
      clock,
      retentionMs: this.#core.retentionMs(true),
      maxRecords: settings.maxRequestRecords,
      onError: (error) => settings.logger.warn({ cause: error }, 'an old record was not removed'),
    })
    const onOver = (forget: () => Promise<void>): void => retention.add(forget)
    const sessions = new SessionRegistry(this.#core, this.#directory, onOver)
    this.#context = {
      core: this.#core,
      directory: this.#directory,
      sessions,
      admission: new AdmissionQueue({ ...settings, ofOwner: this.#core.ownerLimits }),
      registry: new RequestRegistry(this.#core, onOver),
      isRunning: () => this.#state === 'started',
      checkRunning: () => this.#checkRunning(),
    }
    this.#reaper = new Reaper(this.#core, sessions)
    sessions.onLiveChange = () => this.#reaper.look()
  }

  async start(): Promise<void> {
    if (this.#state === 'stopped') throw notRunning('stopped')
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#calls.during(this.#starting)
  }

  async #start(): Promise<void> {
    const { clock } = this.#settings
    const started: BridgeExecutor[] = []
    try {
      for (const executor of this.#settings.executors) {
        await executor.start(this.#host())
        started.push(executor)
      }
      this.#directory.check()
      await this.#core.processes.start()
      if (this.#stopping) throw notRunning('stopped')
    } catch (error) {
      await this.#stopExecutors(started, stopMarginMs)
      await this.#removeRecord()
      throw error
    }
    this.#startedAt = clock.now()
    this.#state = 'started'
  }

  #host(): ExecutorHost {
    const { clock, logger } = this.#settings
    const { observer } = this.#core
    return {
      clock,
      logger,
      notify: (notice) => observer.notify(notice),
      agentsChanged: () => this.#directory.compare(),
      sessionFailed: (sessionId, error) => {
        void this.#core.attempt('the session was not marked as failed', () => this.#context.sessions.fail(sessionId, error))
      },
    }
  }

  async stop(options: { readonly deadlineMs?: number } = {}): Promise<void> {
    checkStopOptions('stop.options', options)
    const { deadlineMs = 10_000 } = options
    this.#stopping ??= this.#calls.during(this.#stop(deadlineMs))
    return this.#stopping
  }

  async #stop(deadlineMs: number): Promise<void> {
    const { clock } = this.#settings
    const before = this.#state
    this.#state = 'stopped'
    if (before === 'new' && this.#starting) await settlesWithin(clock, deadlineMs, this.#starting)
    if (before !== 'started') return
    const deadlineAt = clock.now() + deadlineMs
    this.#reaper.stop()
    await stopWork(this.#context, deadlineAt)
    const leftMs = Math.max(0, deadlineAt + stopMarginMs - clock.now()) + stopMarginMs
    await settlesWithin(clock, leftMs, this.#stopExecutors(this.#settings.executors, leftMs))
    await this.#removeRecord()
  }

  #removeRecord(): Promise<void> {
    return this.#core.attempt('the record of this bridge was not removed', () => this.#core.processes.stop())
  }

  async #stopExecutors(executors: readonly BridgeExecutor[], deadlineMs: number): Promise<void> {
    for (const executor of executors.toReversed()) {
      try {
        await executor.stop({ deadlineMs })
      } catch (error) {
        this.#settings.logger.error({ executor: executor.kind, cause: error }, 'the executor did not stop cleanly')
      }
    }
  }

  health(options: OwnerOption = {}): BridgeHealth {
    checkHealthOptions('health.options', options)
    const { owner = localOwner } = options
    const { executors, clock, maxInFlight } = this.#settings
    const { admission, sessions } = this.#context
    const agents = this.#directory.list()
    const states = executors.map((executor) => this.#healthOf(executor))
    const running = this.#state === 'started'
    return this.#core.redaction.told({
      healthy: running && agents.some(({ status }) => status === 'ready' || status === 'busy') && states.every(({ healthy }) => healthy),
      version: manifest.version,
      uptimeMs: running ? clock.now() - this.#startedAt : 0,
      agents: { total: agents.length, ready: agents.filter(({ status }) => status === 'ready').length },
      sessions: {
        active: executors.reduce((sum, executor) => sum + sessions.slots.takenOf(executor), 0),
        capacity: executors.reduce((sum, executor) => sum + capacityOf(executor), 0),
      },
      requests: { inFlight: admission.inFlight, capacity: maxInFlight, queued: admission.queued },
      owner: this.#loadOf(owner),
      executors: states,
    })
  }

  /** An agent that cannot be listed cannot be used, so it makes its executor unhealthy. */
  #healthOf(executor: BridgeExecutor): BridgeHealth['executors'][number] {
    const health = executor.health()
    const leftOut = this.#directory.leftOut(executor)
    return { kind: executor.kind, ...health, healthy: health.healthy && leftOut.length === 0, ...(leftOut.length > 0 && { leftOut }) }
  }

  #loadOf(owner: string): BridgeHealth['owner'] {
    const { core, admission, sessions } = this.#context
    const { executors } = this.#settings
    const { ownerLimits } = core
    return {
      sessions: {
        active: executors.reduce((sum, executor) => sum + sessions.slots.takenBy(owner, executor), 0),
        capacity: executors.reduce((sum, executor) => sum + ownerLimits.maxSessions(owner, executor), 0),
      },
      requests: { ...admission.of(owner), capacity: ownerLimits.maxInFlight(owner), queueCapacity: ownerLimits.maxQueued(owner) },
    }
  }

  counters(): BridgeCounters {
    return { ...this.#core.observer.counters(), inFlight: this.#context.admission.inFlight }
  }

  discover(query: OwnerOption & { readonly capability?: string } = {}): readonly ListedAgent[] {
    checkDiscoverQuery('discover.query', query)
    const { capability, owner = localOwner } = query
    const agents = this.#directory.list().filter(({ id }) => this.#settings.authorize(owner, 'discover', id))
    return this.#core.redaction.told(
      capability === undefined ? agents : agents.filter(({ capabilities }) => capabilities.includes(capability)),
    )
  }

  async refresh(options: { readonly waitMs?: number } = {}): Promise<void> {
    checkRefreshOptions('refresh.options', options)
    const now = this.#settings.clock.now()
    if (now - this.#refreshedAt < refreshEveryMs) return
    this.#refreshedAt = now
    const looking = this.#settings.executors.map((executor) =>
      this.#core.attempt('the executor did not look anew', () => executor.refresh?.(givenFields(options))),
    )
    await this.#calls.during(Promise.all(looking))
    // An executor may not report changes by itself.
    this.#directory.compare()
  }

  onAgentsChanged(listener: () => void): () => void {
    callChecks.requiredFunction('onAgentsChanged.listener', listener)
    return this.#directory.onChange(listener)
  }

  createSession(input: CreateSessionInput = {}): Promise<BridgeSession> {
    return this.#calls.during(createSession(this.#context, input))
  }

  prompt(input: PromptInput): BridgeRun {
    return this.#open(prompt(this.#context, input))
  }

  delegate(input: DelegateInput): BridgeRun {
    return this.#open(delegate(this.#context, input))
  }

  async session(sessionId: string, options: OwnerOption = {}): Promise<BridgeSession> {
    callChecks.checkName('session.sessionId', sessionId)
    checkSessionOptions('session.options', options)
    const { owner = localOwner } = options
    return sessionView(await this.#answered(this.#context.sessions.read({ owner, id: sessionId })))
  }

  sessions(filter: SessionFilter = {}): Promise<SessionPage> {
    return this.#answered(listSessions(this.#context, filter))
  }

  requests(filter: RequestFilter = {}): Promise<RequestPage> {
    return this.#answered(listRequests(this.#context, filter))
  }

  request(requestId: string, options: RequestQuery = {}): Promise<BridgeResult> {
    const looking = getRequest(this.#context, requestId, options)
    return this.#calls.during(looking.catch((error: unknown) => failed(asTold(this.#core, error))))
  }

  cancel(input: CancelInput): Promise<CancelReceipt> {
    return this.#answered(cancel(this.#context, input))
  }

  close(input: CloseInput): Promise<CloseReceipt> {
    return this.#answered(close(this.#context, input))
  }

  /** Makes sure that the call rejects with a `BridgeError` only. */
  #answered<T>(call: Promise<T>): Promise<T> {
    return this.#calls.during(
      call.catch((error: unknown) => {
        throw asTold(this.#core, error)
      }),
    )
  }

  #open(run: BridgeRun): BridgeRun {
    void this.#calls.during(run.result())
    return run
  }

  #checkRunning(): void {
    if (this.#state !== 'started') throw notRunning(this.#state)
  }
}

function notRunning(state: 'new' | 'stopped' | 'started'): BridgeError {
  return new BridgeError(
    'INTERNAL',
    state === 'stopped' ? 'The bridge is stopped: create another one' : 'The bridge is not started: await start() first',
  )
}
