import { systemIds } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { BackgroundSettings } from '../children/child-context.ts'
import { SessionError } from '../errors.ts'
import { inputChecks } from '../arguments.ts'
import { checkAnyKey, checkKey } from '../keys.ts'
import { LiveLog } from '../log/live-log.ts'
import type { SessionContext } from '../commands/context.ts'
import { endSession, expiredBefore } from '../commands/end-session.ts'
import { isPartialCopy, removeAbandonedCopies } from '../commands/tree/partial-copy.ts'
import { historyOf } from '../commands/history.ts'
import { startOrphanedInputs } from '../commands/orphaned-inputs.ts'
import { restWithin } from '../commands/wait-for-rest.ts'
import { ExpectedDrivers } from '../commands/run-driver.ts'
import { runHandle } from '../commands/run-handle.ts'
import { createSession } from '../commands/session.ts'
import { metadataOf, settingsOf } from '../commands/settings.ts'
import { requestStop, stopAwaited, stopBelow } from '../commands/stop.ts'
import { importSession } from '../commands/transfer/import.ts'
import { toRunInfo, toSessionInfo } from '../commands/views.ts'
import { isSettled } from '../contract/run-status.ts'
import { checkSessionQuery } from '../contract/check-query.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { removeOrchestrationState } from '../orchestration/remove-session.ts'
import { memoryStore } from '../stores/memory.ts'
import { AgentDirectory } from './agent-directory.ts'
import { checkDrainOptions, checkImport, checkReaderOptions, checkRuntimeOptions, checkSessionOptions, checkStartOptions, checkStopOptions, unknownAgent } from './check-options.ts'
import { ClaimLoop } from './claim-loop.ts'
import { Scheduler } from './scheduler.ts'
import { Conversations } from './conversations.ts'
import { drainLoop } from './drain.ts'
import { Lifecycle } from './lifecycle.ts'
import { startingStore } from './starting-store.ts'
import { hasWork, pendingWork } from './pending-work.ts'
import type { DrainReport, ErrorContext, Runtime, RuntimeOptions, SessionOptions } from './types.ts'

const defaultStopGraceMs = 10_000
const childStopMs = 10_000
const dayMs = 86_400_000

export function createRuntime(options: RuntimeOptions): Runtime {
  checkRuntimeOptions(options)
  const { store: rawStore = memoryStore(), namespace = 'default', clock = systemClock, ids = systemIds, timers = true } = options
  const directory = new AgentDirectory(options.agents)
  const id = ids.next('runtime')
  const live = new LiveLog()
  const onError = guarded(options.onError ?? reportError)
  const background = backgroundOf(options, rawStore)

  const store = startingStore(rawStore, () => (options.autoStart === false ? Promise.resolve() : lifecycle.ensureStarted()))
  const context: SessionContext = {
    store,
    live,
    clock,
    ids,
    onBusy: options.onBusy ?? 'queue',
    deletions: new Map(),
    agents: directory.roots,
    drivers: new ExpectedDrivers(),
    toolOf: (session, run, name) => directory.agentOf(session, run)?.tools.find((tool) => tool.name === name),
    wake(key, atMs = clock.now()) {
      if (atMs > clock.now()) return scheduler.schedule(atMs)
      loop.wake(key)
      scheduler.tellHost(atMs)
    },
    lookAhead: () => void lookAhead([], false),
    abort: (runId, request) => loop.abort(runId, request),
    fence: (runId) => loop.fence(runId),
    removeExtensionState: (key) => removeOrchestrationState(rawStore, key),
  }
  const ofRuns: SessionContext = { ...context, store: rawStore }
  const loop = new ClaimLoop({
    ...options,
    ...{ store: rawStore, clock, ids, live, directory, owner: id, onError, drivers: context.drivers, conversations: new Conversations() },
    children: {
      ...{ store: rawStore, clock, ids, background },
      async stopChild(child) {
        await requestStop(ofRuns, child, undefined)
        await loop.lendSlot(() => restWithin(ofRuns, child, childStopMs))
      },
      stopBelow: (run) => stopBelow(ofRuns, run.id, run.stop?.reason),
      stopAwaited: (run) => stopAwaited(ofRuns, run.id),
      async waitForTask(task, waitMs, abortSignal) {
        await loop.lendSlot(() => restWithin(ofRuns, task, waitMs, abortSignal, isSettled))
      },
      announce: (key) => live.announce(key),
      wake: (key) => context.wake(key),
    },
    async onRest({ run, session }, how) {
      // Nothing waits, and nothing in the session is due later.
      if (how === 'settled' && !session.settings.ttl && !options.onWake) return
      const keys = [session.key, ...(run.parent ? [run.parent.session] : [])]
      for (const key of keys) {
        // What could not be written now is found by the next sweep.
        await startOrphanedInputs(ofRuns, key).catch((error: unknown) => onError(error, { during: 'sweep', session: key }))
      }
      await lookAhead(keys, how === 'gave-back' || how === 'lost')
    },
  })
  const scheduler: Scheduler = new Scheduler({
    ...{ store: rawStore, clock, ids, onError, hasTimers: timers, onWake: options.onWake },
    retention: { runsMs: options.retention?.runsMs ?? 30 * dayMs, expiredMs: options.retention?.expiredMs ?? 7 * dayMs },
    wake: () => loop.wake(),
    announce: (key) => live.announce(key),
    expire: (key) => endSession(ofRuns, key, 'expire'),
    expiredBefore: (atMs) => expiredBefore(rawStore, atMs),
    remove: ({ key, id: incarnation }) => endSession(ofRuns, key, 'delete', { incarnation }),
    startOrphanedInputs: (key) => startOrphanedInputs(ofRuns, key),
    removeAbandonedCopies: () => removeAbandonedCopies(ofRuns),
  })
  const lifecycle: Lifecycle = new Lifecycle({
    store: rawStore,
    loop,
    scheduler,
    openOptions: { namespace, clock, owner: id },
    onHint({ key, wake }) {
      if (wake) loop.wake(key)
      // Readers hear of what happens here without asking the store.
      if (!loop.executes(key)) live.announce(key)
    },
  })

  const runtime: Runtime = {
    id,
    namespace,
    store: rawStore,
    background: background.mode,
    agents: [...directory.roots.values()],
    async start(startOptions = {}) {
      checkStartOptions('start.options', startOptions)
      return lifecycle.start(startOptions)
    },
    async stop(stopOptions = {}) {
      checkStopOptions('stop.options', stopOptions)
      return lifecycle.stop(stopOptions.graceMs ?? defaultStopGraceMs)
    },
    session: (key, sessionOptions = {}) => openHandle(key, sessionOptions),
    reader(key, readerOptions = {}) {
      checkAnyKey(key)
      checkReaderOptions('reader.options', readerOptions)
      const { owner } = readerOptions
      const given = { key, agent: directory.default, agentNamed: false, metadata: {}, settings: {} }
      return createSession(context, { ...given, ...(owner === undefined ? {} : { owner }) })
    },
    async sessions(query = {}) {
      checkSessionQuery('sessions.options', query)
      const page = await store.listSessions(query)
      const whole = page.items.filter((record) => !isPartialCopy(record))
      return { ...page, items: await Promise.all(whole.map((record) => toSessionInfo(store, record))) }
    },
    async importSession(lines, importOptions = {}) {
      checkImport(lines, importOptions)
      const { owner } = importOptions
      const key = await importSession(context, lines, importOptions)
      return runtime.session(key, owner === undefined ? {} : { owner })
    },
    async run(runId) {
      inputChecks.checkName('runId', runId)
      const read = await store.readRun(runId)
      return read.status === 'found' ? toRunInfo(store, read.value) : null
    },
    async resume(runId) {
      inputChecks.checkName('runId', runId)
      const read = await store.readRun(runId)
      if (read.status === 'missing' || !(await loop.claimRun(runId))) return null
      const record = await store.readSession(read.value.session)
      if (!('value' in record)) return null
      const { key, agent, owner, metadata, settings } = record.value
      const session = createSession(context, { key, agent, agentNamed: false, metadata, settings, ...(owner === undefined ? {} : { owner }) })
      return runHandle(context, session, runId, 'queued')
    },
    async drain(drainOptions = {}): Promise<DrainReport> {
      checkDrainOptions('drain.options', drainOptions)
      await lifecycle.ensureStarted()
      await scheduler.sweep()
      const done = await drainLoop(loop, clock, drainOptions)
      const left = await pendingWork(rawStore, clock.now(), await scheduler.nextDueAt())
      if (left.nextDueAt !== null) scheduler.schedule(left.nextDueAt)
      return { ...done, ...left }
    },
    async sweep() {
      await lifecycle.ensureStarted()
      return scheduler.sweep()
    },
    [Symbol.asyncDispose]: () => runtime.stop(),
  }

  /** Arms the timer, and tells the host when to come: at once, when one of these sessions has a run to be claimed. */
  async function lookAhead(keys: readonly string[], isWorkLeft: boolean): Promise<void> {
    try {
      const isLeft = isWorkLeft || (options.onWake !== undefined && (await hasWork(rawStore, keys, clock.now())))
      await scheduler.refresh(isLeft)
    } catch (error) {
      onError(error, { during: 'sweep' })
    }
  }

  function openHandle(key: string, given: SessionOptions) {
    checkKey(key)
    checkSessionOptions('session.options', given)
    const { agent, owner, metadata, ttl = options.ttl, runtimeParams, channel, remoteTools, history } = given
    if (agent !== undefined && !directory.roots.has(agent)) throw unknownAgent(agent, [...directory.roots.keys()])
    return createSession(context, {
      key,
      agent: agent ?? directory.default,
      agentNamed: agent !== undefined,
      metadata: metadataOf('metadata', metadata) ?? {},
      settings: settingsOf('session.options', { ttl, runtimeParams, channel, remoteTools }),
      ...(history && history.length > 0 && { history: historyOf(history, ids) }),
      ...(owner === undefined ? {} : { owner }),
    })
  }
  return runtime
}

function backgroundOf({ background, timers = true, onWake }: RuntimeOptions, store: SessionStore): BackgroundSettings {
  const { maxActive = 64, maxRetained = 256, maxDepth = 3 } = background || {}
  // Without timers and without an alarm nobody would come back to it.
  const canWake = timers || onWake !== undefined
  const mode = background === false || !canWake ? 'none' : store.capabilities.durable === 'none' ? 'in-process' : 'durable'
  return { mode, maxActive, maxRetained, maxDepth }
}

/** A host's handler that fails must not become a fault of its own. */
function guarded(onError: NonNullable<RuntimeOptions['onError']>): NonNullable<RuntimeOptions['onError']> {
  return (error, where) => {
    try {
      onError(error, where)
    } catch (failure) {
      reportError(error, where)
      reportError(failure, where)
    }
  }
}

/** Says what failed and where, never what was said. */
function reportError(error: unknown, where: ErrorContext): void {
  const name = error instanceof Error ? error.name : 'Error'
  const code = SessionError.isInstance(error) ? error.code : ''
  // oxlint-disable-next-line no-console -- the documented default; hosts hand in `onError`
  console.error(`bowline: a fault during ${where.during}: ${name} ${code}`.trim(), where.runId ?? '')
}
