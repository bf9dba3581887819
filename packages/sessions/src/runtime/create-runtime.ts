import { inputChecks, sessionsMark } from '../arguments.ts'
import { runHandle } from '../commands/run-handle.ts'
import { createSession } from '../commands/session.ts'
import { inspectSession } from '../commands/inspect/inspect-session.ts'
import { metadataOf, settingsOf } from '../commands/settings.ts'
import { importSession } from '../commands/transfer/import.ts'
import { historyOf } from '../commands/history.ts'
import type { Session } from '../commands/types.ts'
import { listSessions, toRunInfo } from '../commands/views.ts'
import { toScheduleInfo } from '../commands/schedules/schedule-record.ts'
import { checkNoticeQuery, checkPageRequest, checkSessionQuery } from '../contract/check-query.ts'
import { SessionError } from '../errors.ts'
import { checkAnyKey, checkKey } from '../keys.ts'
import {
  checkDrainOptions,
  checkImport,
  checkReaderOptions,
  checkRuntimeOptions,
  checkSessionOptions,
  checkSessionWebhook,
  checkStartOptions,
  checkStopOptions,
  checkWorkOptions,
  unknownAgent,
} from './check-options.ts'
import { drainLoop, withTimeLimit } from './drain.ts'
import { pendingWork } from './pending-work.ts'
import { RuntimeParts } from './runtime-parts.ts'
import type { Runtime, RuntimeOptions, SessionOptions } from './types.ts'

const defaultStopGraceMs = 10_000

/**
 * Creates a runtime: agents, a store and a scheduler in this process. Does no I/O: `start()` or the first use opens the store.
 * Throws `invalid-config`, which names every faulty option.
 */
export function createRuntime(options: RuntimeOptions): Runtime {
  checkRuntimeOptions(options)
  const parts = new RuntimeParts(options)
  const { id, namespace, store, background, directory, tenants } = parts
  const runtime: Runtime = {
    id,
    namespace,
    store,
    background: background.mode,
    placement: options.placement ?? 'own',
    hasTenantBudget: tenants !== undefined,
    agents: [...directory.roots.values()],
    ...processMethods(parts),
    ...sessionMethods(parts),
    ...runMethods(parts),
    ...noticeMethods(parts),
    [Symbol.asyncDispose]: () => runtime.stop(),
    ...sessionsMark,
  }
  return runtime
}

/** Returns the methods for the work of this process. */
function processMethods({
  lifecycle,
  scheduler,
  loop,
  store,
  clock,
  courier,
  work,
  hosts,
}: RuntimeParts): Pick<Runtime, 'start' | 'stop' | 'drain' | 'work' | 'onWake' | 'sweep'> {
  return {
    async start(options = {}) {
      checkStartOptions('start.options', options)
      return lifecycle.start(options)
    },
    async stop(options = {}) {
      checkStopOptions('stop.options', options)
      return lifecycle.stop(options.graceMs ?? defaultStopGraceMs)
    },
    async drain(options = {}) {
      checkDrainOptions('drain.options', options)
      await lifecycle.ensureStarted()
      const done = await withTimeLimit(clock, options, (signal) =>
        courier.drainWhile(async () => {
          await scheduler.sweep()
          return drainLoop(loop, options.maxRuns ?? Infinity, signal)
        }, signal),
      )
      const left = await pendingWork(store, clock.now(), earlier(await scheduler.nextDueAt(), courier.nextAt))
      if (left.nextDueAt !== null) scheduler.schedule(left.nextDueAt)
      return { ...done, ...left }
    },
    async work(key, options = {}) {
      checkAnyKey(key)
      checkWorkOptions('work.options', options)
      await lifecycle.ensureStarted()
      return work.work(key, options)
    },
    onWake: (callback) => hosts.add(callback),
    async sweep() {
      await lifecycle.ensureStarted()
      const report = await courier.drainWhile(() => scheduler.sweep())
      return { ...report, nextDueAt: earlier(report.nextDueAt, courier.nextAt) }
    },
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

function sessionMethods(parts: RuntimeParts): Pick<Runtime, 'session' | 'reader' | 'sessions' | 'schedules' | 'inspect' | 'importSession'> {
  const { context, directory } = parts
  const { store } = context
  return {
    session: (key, options = {}) => openHandle(parts, key, options),
    reader(key, options = {}) {
      checkAnyKey(key)
      checkReaderOptions('reader.options', options)
      const { owner } = options
      const given = { key, agent: directory.default, agentNamed: false, metadata: {}, settings: {} }
      return createSession(context, { ...given, ...(owner === undefined ? {} : { owner }) })
    },
    async sessions(query = {}) {
      checkSessionQuery('sessions.options', query)
      return listSessions(store, query)
    },
    async schedules(page = {}) {
      checkPageRequest('schedules.options', page)
      const timers = await store.listTimers({ ...page, kind: 'schedule' })
      return { ...timers, items: timers.items.map(toScheduleInfo) }
    },
    inspect: async (key) => inspectSession(store, key, context.clock.now()),
    async importSession(lines, options = {}) {
      checkImport(lines, options)
      const { owner } = options
      const key = await importSession(context, lines, options)
      return openHandle(parts, key, owner === undefined ? {} : { owner })
    },
  }
}

function openHandle({ context, directory, options, ids }: RuntimeParts, key: string, given: SessionOptions): Session {
  checkKey(key)
  checkSessionOptions('session.options', given)
  checkSessionWebhook(given, options)
  const { agent, owner, metadata, ttl = options.ttl, runtimeParams, channel, remoteTools, notify, history } = given
  if (agent !== undefined && !directory.roots.has(agent)) throw unknownAgent(agent, [...directory.roots.keys()])
  return createSession(context, {
    key,
    agent: agent ?? directory.default,
    agentNamed: agent !== undefined,
    metadata: metadataOf('metadata', metadata) ?? {},
    settings: settingsOf('session.options', { ttl, runtimeParams, channel, remoteTools, notify }),
    ...(history && history.length > 0 && { history: historyOf(history, ids) }),
    ...(owner === undefined ? {} : { owner }),
  })
}

function noticeMethods({ context: { store }, courier }: RuntimeParts): Pick<Runtime, 'notices' | 'resendNotice'> {
  return {
    async notices(query = {}) {
      checkNoticeQuery('notices.options', query)
      return store.listNotices(query)
    },
    async resendNotice(key, id) {
      checkKey(key)
      inputChecks.checkName('id', id)
      const found = await store.resendNotice(key, id)
      if (found.status === 'missing') return null
      courier.wake()
      return found.value
    },
  }
}

function runMethods({ context, loop, tenants, options, lifecycle }: RuntimeParts): Pick<Runtime, 'run' | 'resume' | 'tenantSpending'> {
  const { store } = context
  return {
    async tenantSpending(tenant) {
      inputChecks.checkName('tenant', tenant)
      if (!tenants) throw new SessionError('invalid-config', 'This runtime has no tenant budgets. Set tenantBudget of createRuntime.')
      if (options.autoStart !== false) await lifecycle.ensureStarted()
      return tenants.spending(tenant)
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
      const session = createSession(context, {
        key,
        agent,
        agentNamed: false,
        metadata,
        settings,
        ...(owner === undefined ? {} : { owner }),
      })
      return runHandle(context, session, runId, 'queued')
    },
  }
}
