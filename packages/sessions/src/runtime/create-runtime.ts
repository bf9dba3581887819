import { systemIds, type Agent } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { checkAgentName, checkKey, checkNamespace } from '../keys.ts'
import { LiveLog } from '../log/live-log.ts'
import type { SessionContext } from '../session/context.ts'
import { createSession } from '../session/session.ts'
import { toRunInfo, toSessionInfo } from '../session/views.ts'
import { memoryStore } from '../stores/memory.ts'
import { ClaimLoop } from './claim-loop.ts'
import { Lifecycle } from './lifecycle.ts'
import type { ErrorContext, Runtime, RuntimeOptions } from './types.ts'

const defaultStopGraceMs = 10_000

export function createRuntime(options: RuntimeOptions): Runtime {
  const { store = memoryStore(), namespace = 'default', clock = systemClock, ids = systemIds } = options
  checkNamespace(namespace)
  const agents = agentsByName(options.agents)
  const [defaultAgent] = agents.keys()
  const id = ids.next('runtime')
  const live = new LiveLog()
  const onError = guarded(options.onError ?? reportError)
  const loop = new ClaimLoop({ ...options, store, clock, ids, live, agents, owner: id, onError })
  const context: SessionContext = {
    store,
    live,
    clock,
    ids,
    onBusy: options.onBusy ?? 'queue',
    wake: () => loop.wake(),
    abort: (runId, request) => loop.abort(runId, request),
  }
  const lifecycle = new Lifecycle(store, loop, { namespace, clock, owner: id })

  const runtime: Runtime = {
    id,
    namespace,
    store,
    agents: [...agents.values()],
    start: (startOptions = {}) => lifecycle.start(startOptions),
    stop: ({ graceMs = defaultStopGraceMs } = {}) => lifecycle.stop(graceMs),
    session(key, { agent, owner, metadata = {} } = {}) {
      checkKey(key)
      if (agent !== undefined && !agents.has(agent)) {
        throw new SessionError('unknown-agent', `There is no agent ${JSON.stringify(agent)}; there are: ${[...agents.keys()].join(', ')}.`)
      }
      return createSession(context, {
        key,
        agent: agent ?? defaultAgent ?? '',
        agentNamed: agent !== undefined,
        metadata,
        settings: {},
        ...(owner === undefined ? {} : { owner }),
      })
    },
    async sessions(query = {}) {
      const page = await store.listSessions(query)
      return { ...page, items: await Promise.all(page.items.map((record) => toSessionInfo(store, record))) }
    },
    async run(runId) {
      const read = await store.readRun(runId)
      return read.status === 'found' ? toRunInfo(store, read.value) : null
    },
    [Symbol.asyncDispose]: () => runtime.stop(),
  }
  return runtime
}

function agentsByName(list: readonly Agent[]): ReadonlyMap<string, Agent> {
  if (list.length === 0) throw new SessionError('invalid-config', 'A runtime needs at least one agent.')
  const agents = new Map<string, Agent>()
  for (const agent of list) {
    checkAgentName(agent.name)
    if (agents.has(agent.name)) throw new SessionError('invalid-config', `Two agents have the name ${agent.name}.`)
    agents.set(agent.name, agent)
  }
  return agents
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
  // eslint-disable-next-line no-console -- the documented default; hosts hand in `onError`
  console.error(`bowline: a fault during ${where.during}: ${name} ${code}`.trim(), where.runId ?? '')
}
