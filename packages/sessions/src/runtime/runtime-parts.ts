import { systemIds, type IdSource } from '@bowline/agent-loop'
import { systemClock, type Clock } from '@bowline/llm'
import type { BackgroundSettings, ChildContext } from '../children/child-context.ts'
import type { SessionContext } from '../commands/context.ts'
import { endSession, expiredBefore } from '../commands/end-session.ts'
import { fireSchedule } from '../commands/schedules/fire-schedule.ts'
import { startOrphanedInputs } from '../commands/orphaned-inputs.ts'
import { actionsBehind } from '../commands/session-actions.ts'
import { ExpectedDrivers } from '../commands/run-driver.ts'
import { requestStop, stopAwaited, stopBelow } from '../commands/stop.ts'
import { removeAbandonedCopies } from '../commands/tree/partial-copy.ts'
import { restWithin } from '../commands/wait-for-rest.ts'
import { isSettled } from '../contract/run-status.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import { steadyStore } from '../contract/steady-store.ts'
import { LiveLog } from '../log/live-log.ts'
import { RemoteDeltas } from '../log/remote-deltas.ts'
import { removeOrchestrationState } from '../orchestration/remove-session.ts'
import { memoryStore } from '../stores/memory.ts'
import { Conversations } from '../writer/conversations.ts'
import type { Webhook } from '../contract/records.ts'
import { parseRanges } from '../net/addresses.ts'
import type { Leaving } from './active-runs.ts'
import { AgentDirectory } from './agent-directory.ts'
import { webhooksOf } from './check-options.ts'
import { ClaimLoop } from './claim-loop.ts'
import { committingStore, type WorkLeft } from './committing-store.ts'
import { Courier } from './courier.ts'
import { Hosts } from './hosts.ts'
import { defaultLeaseMs } from './leases.ts'
import { Lifecycle, startingStore } from './lifecycle.ts'
import { hasWork } from './pending-work.ts'
import { errorHandler } from './report-errors.ts'
import { Scheduler } from './scheduler.ts'
import { SessionWork } from './session-work.ts'
import { TenantBudgets } from './tenant-budgets.ts'
import type { RuntimeOptions } from './types.ts'

const childStopMs = 10_000
const dayMs = 86_400_000
/** Time in ms for which commands wait for a store that does not answer. Then their caller has to retry. */
const commandPatienceMs = 5_000

/** Makes and wires the parts of a runtime. They call each other only after all of them are made. */
export class RuntimeParts {
  readonly options: RuntimeOptions
  readonly store: SessionStore
  readonly namespace: string
  readonly clock: Clock
  readonly ids: IdSource
  readonly directory: AgentDirectory
  readonly id: string
  readonly background: BackgroundSettings
  readonly tenants: TenantBudgets | undefined
  /** Context for handles. The first use of its store starts the runtime. */
  readonly context: SessionContext
  readonly loop: ClaimLoop
  readonly scheduler: Scheduler
  readonly lifecycle: Lifecycle
  readonly courier: Courier
  readonly hosts: Hosts
  readonly work: SessionWork
  readonly #live = new LiveLog()
  readonly #conversations = new Conversations()
  readonly #onError: NonNullable<RuntimeOptions['onError']>
  /** Store for all commits. It adds marks and webhooks to notify. */
  readonly #committing: SessionStore
  #remote: RemoteDeltas | undefined
  /** Context for work of the runtime itself, which also runs during start and stop. */
  readonly #ownContext: SessionContext

  constructor(options: RuntimeOptions) {
    this.options = options
    this.store = options.store ?? memoryStore()
    this.namespace = options.namespace ?? 'default'
    this.clock = options.clock ?? systemClock
    this.ids = options.ids ?? systemIds
    this.directory = new AgentDirectory(options.agents)
    this.id = this.ids.next('runtime')
    this.background = backgroundOf(options, this.store)
    this.#onError = errorHandler(options.onError)
    const { tenantBudget } = options
    this.tenants =
      tenantBudget &&
      new TenantBudgets({
        ...tenantBudget,
        ownState: () => this.context.store.state,
        namespace: this.namespace,
        clock: this.clock,
        ids: this.ids,
      })
    const webhooks = webhooksOf(options)
    this.courier = this.#makeCourier(webhooks)
    const hooks = [...webhooks].map(([name, { events }]) => ({ name, events }))
    this.hosts = new Hosts(options, { clock: this.clock, onError: this.#onError })
    this.#committing = committingStore(this.store, {
      owner: this.id,
      hooks,
      onNotices: () => this.courier.wake(),
      ...(this.hosts.decide && { onWork: (work) => this.#tell(work) }),
    })
    const steady = this.#steady()
    this.context = this.#makeContext(steady)
    this.#ownContext = { ...this.context, store: steady }
    this.loop = this.#makeLoop()
    this.scheduler = this.#makeScheduler()
    this.lifecycle = this.#makeLifecycle()
    this.work = new SessionWork({
      store: steady,
      clock: this.clock,
      loop: this.loop,
      sweep: (due) => this.scheduler.sweepSession(due),
      tell: (key) => this.hosts.tell({ key, atMs: this.clock.now() }),
    })
  }

  /** Tells the host which sessions have work, except those that this process is working on and looks at again. */
  async #tell(work: readonly WorkLeft[]): Promise<void> {
    const now = this.clock.now()
    await Promise.all(
      work.map(async ({ key, atMs = now }) => {
        if (atMs > now || !this.work.note(key)) await this.hosts.tell({ key, atMs })
      }),
    )
  }

  /** Returns the store for commands. */
  #steady(): SessionStore {
    const over = (): AbortSignal => this.lifecycle.over
    return steadyStore(this.#committing, {
      clock: this.clock,
      forMs: commandPatienceMs,
      isPassing: ({ retryable }) => retryable,
      get over() {
        return over()
      },
    })
  }

  #makeContext(steady: SessionStore): SessionContext {
    const { store, clock, ids, directory, options } = this
    return {
      store: startingStore(steady, () => (options.autoStart === false ? Promise.resolve() : this.lifecycle.ensureStarted())),
      live: this.#live,
      remote: () => this.#remoteDeltas(),
      clock,
      ids,
      onBusy: options.onBusy ?? 'queue',
      leaseMs: options.lease?.ttlMs ?? defaultLeaseMs,
      deletions: new Map(),
      agents: directory.roots,
      drivers: new ExpectedDrivers(),
      toolOf: (session, run, name) => directory.agentOf(session, run)?.tools.find((tool) => tool.name === name),
      wake: (key, atMs) => this.#wake(key, atMs),
      lookAhead: () => void this.#lookAhead([], false),
      abort: (runId, request) => this.loop.abort(runId, request),
      fence: (runId) => this.loop.fence(runId),
      forget: (sessionId) => this.#conversations.forget(sessionId),
      onExtensionError: (session, error) => this.#onError(error, { during: 'extension', session }),
      removeExtensionState: async (key) => {
        await removeOrchestrationState(store, key)
        await options.requests?.remove(key)
      },
    }
  }

  /** Created at the first use, because creating a runtime must not touch the store. */
  #remoteDeltas(): RemoteDeltas | undefined {
    const { deltas } = this.store
    if (!deltas) return undefined
    this.#remote ??= new RemoteDeltas({
      deltas,
      live: this.#live,
      isExecutedHere: (key) => this.loop.executes(key),
      onError: (error, session) => this.#onError(error, { during: 'deltas', session }),
    })
    return this.#remote
  }

  #makeLoop(): ClaimLoop {
    const { options, clock, ids, directory, context } = this
    return new ClaimLoop({
      ...options,
      store: this.#committing,
      clock,
      ids,
      directory,
      live: this.#live,
      owner: this.id,
      onError: this.#onError,
      drivers: context.drivers,
      claimsByItself: (options.timers ?? true) && !this.hosts.decide,
      conversations: this.#conversations,
      tenants: this.tenants,
      childrenOn: (store) => this.#childContextOn(store),
      actionsBehind: (claim) =>
        actionsBehind(this.#ownContext, claim, (error) =>
          this.#onError(error, { during: 'extension', runId: claim.run.id, session: claim.run.session }),
        ),
      onRest: (claim, how) => this.#onRest(claim, how),
    })
  }

  #childContextOn(store: SessionStore): ChildContext {
    const { clock, ids, background } = this
    const context = { ...this.#ownContext, store }
    return {
      store,
      clock,
      ids,
      background,
      stopChild: async (child) => {
        await requestStop(context, child, undefined)
        await this.loop.releaseSlotWhile(() => restWithin(context, child, childStopMs))
      },
      stopBelow: (run) => stopBelow(context, run.id, run.stop?.reason),
      stopAwaited: (run) => stopAwaited(context, run.id),
      waitForTask: async (task, waitMs, abortSignal) => {
        await this.loop.releaseSlotWhile(() => restWithin(context, task, waitMs, abortSignal, isSettled))
      },
      announce: (key) => this.#live.announce(key),
      wake: (key) => this.#wake(key),
    }
  }

  #makeScheduler(): Scheduler {
    const { clock, ids, options, hosts } = this
    const { retention, timers = true } = options
    const context = this.#ownContext
    const { store } = context
    return new Scheduler({
      store,
      clock,
      ids,
      onError: this.#onError,
      hasTimers: timers,
      onDue: hosts.decide ? undefined : (atMs) => void hosts.tell({ atMs }),
      onLeft: hosts.decide ? (key) => this.#tell([{ key }]) : undefined,
      retention: { runsMs: retention?.runsMs ?? 30 * dayMs, expiredMs: retention?.expiredMs ?? 7 * dayMs },
      onNotices: (atMs) => this.courier.wake(atMs),
      noticesMs: Math.max(30 * dayMs, ...[...webhooksOf(options).values()].map(({ retentionMs = 0 }) => retentionMs)),
      wake: () => this.loop.wake(),
      announce: (key) => this.#live.announce(key),
      expire: (key) => endSession(context, key, 'expire'),
      expiredBefore: (atMs) => expiredBefore(store, atMs),
      remove: ({ key, id: incarnation }) => endSession(context, key, 'delete', { incarnation }),
      startOrphanedInputs: (key) => startOrphanedInputs(context, key),
      fireSchedule: (timer) => fireSchedule(context, timer),
      removeAbandonedCopies: () => removeAbandonedCopies(context),
    })
  }

  #makeCourier(webhooks: ReadonlyMap<string, Webhook>): Courier {
    const { store, clock, options } = this
    const { http, allow = [], resolve, ca, random = Math.random } = options.webhooks ?? {}
    return new Courier({
      store,
      clock,
      webhooks,
      random,
      hasTimers: options.timers ?? true,
      onError: this.#onError,
      guard: { http, resolve, ca, ranges: parseRanges(allow, String).ranges },
      tellHost: (atMs) => this.scheduler.tellHost(atMs),
    })
  }

  #makeLifecycle(): Lifecycle {
    const { store, namespace, clock, loop, scheduler, courier } = this
    return new Lifecycle({
      store,
      loop,
      scheduler,
      courier,
      openOptions: { namespace, clock, owner: this.id, placement: this.options.placement ?? 'own' },
      checkHost: () => this.hosts.check(),
      finishWriting: async (withinMs) => this.tenants?.finishWriting(withinMs),
      onHint: ({ key, wake, deltas, elsewhere }) => {
        if (key === undefined) return this.#lookEverywhere()
        if (deltas) return void this.#remoteDeltas()?.fetch(key)
        if (wake) loop.wake(key)
        // The runtime publishes the events of its own runs, so that their readers do not have to read the store.
        if (!loop.executes(key)) this.#live.announce(key)
        else if (elsewhere) loop.heed(key)
      },
    })
  }

  /** Handles a hint that anything may have happened in any session. */
  #lookEverywhere(): void {
    this.loop.wake()
    this.loop.heedAll()
    this.#live.announceAll()
  }

  /** Claims runs of this session, now or at this time. */
  #wake(key: string, atMs = this.clock.now()): void {
    if (atMs > this.clock.now()) return this.scheduler.schedule(atMs)
    this.loop.wake(key)
    this.scheduler.tellHost(atMs)
  }

  async #onRest({ run, session }: Claim, how: Leaving): Promise<void> {
    // Nothing is waiting in the session, and nothing in it is due later.
    if (how === 'settled' && !session.settings.ttl && !this.#drainsAreTold) return
    const keys = [session.key, ...(run.parent ? [run.parent.session] : [])]
    for (const key of keys) {
      // If the store fails, the next sweep finds these inputs.
      await startOrphanedInputs(this.#ownContext, key).catch((error: unknown) => this.#onError(error, { during: 'sweep', session: key }))
    }
    await this.#lookAhead(keys, how === 'gave-back' || how === 'lost')
  }

  /** True if a host is told when to call `drain()`. */
  get #drainsAreTold(): boolean {
    return !this.hosts.decide && this.hosts.isTold
  }

  /** Arms the timer and tells the host when to call `drain()`: now, if one of these sessions has a run that can be claimed. */
  async #lookAhead(keys: readonly string[], isWorkLeft: boolean): Promise<void> {
    try {
      const isLeft = isWorkLeft || (this.#drainsAreTold && (await hasWork(this.store, keys, this.clock.now())))
      await this.scheduler.refresh(isLeft)
    } catch (error) {
      this.#onError(error, { during: 'sweep' })
    }
  }
}

function backgroundOf({ background, timers = true, onWake, placement }: RuntimeOptions, store: SessionStore): BackgroundSettings {
  const { maxActive = 64, maxRetained = 256, maxDepth = 3 } = background || {}
  // Without timers and without `onWake` no process would continue a background task.
  const canWake = timers || onWake !== undefined || placement === 'host'
  const mode = background === false || !canWake ? 'none' : store.capabilities.durable === 'none' ? 'in-process' : 'durable'
  return { mode, maxActive, maxRetained, maxDepth }
}
