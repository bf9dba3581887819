import { systemClock } from '@bowline/llm'
import { createServer } from '@bowline/server'
import type { Principal } from '@bowline/server'
import { serve } from '@bowline/server/node'
import type { RunningServer } from '@bowline/server/node'
import type { Listening } from '@bowline/restate'
import type { Runtime } from '@bowline/sessions'
import type { StudioInfo } from '@bowline/studio/info'
import { phrases } from '../phrases.ts'
import { demoAgentName } from './agents.ts'
import type { ModelChoice } from './choose-model.ts'
import { createDemo } from './create-demo.ts'
import { createDemoFetch } from './demo-fetch.ts'
import { countEffects } from './effects.ts'
import { createKillPoints } from './kill-points.ts'
import { holdsToken, readPageToken } from './page-token.ts'
import type { ServerProcess } from './process-messages.ts'
import { createServerGroup } from './server-group.ts'
import { demoTenant } from './session-key.ts'
import { dataFolderFrom, isOneOfSeveral, pageFolderFrom, portFrom, restateUrlFrom } from './settings.ts'
import type { Environment } from './settings.ts'

const reader: Principal = {
  id: 'page',
  tenant: demoTenant,
  scopes: ['agents:read', 'sessions:read', 'sessions:write', 'sessions:delete', 'approvals', 'mcp', 'requests:read'],
}

export interface StartedServer extends RunningServer {
  readonly runtimeId: string
}

/** Answers of the supervisor to a server process. */
export interface Supervision {
  /** Returns all server processes, if this is one of several. */
  readonly processes: () => readonly ServerProcess[]
  /** Resolves when Restate knows the URL at which it reaches this process. */
  readonly register: (workerUrl: string) => Promise<void>
}

/**
 * Starts store, runtime, API and page in this process. Throws for a fault of the environment.
 */
export async function startServer(env: Environment, { processes, register }: Supervision): Promise<StartedServer> {
  let port = portFrom(env)
  const dataFolder = dataFolderFrom(env)
  const points = canKill(env) ? createKillPoints(dataFolder, systemClock) : undefined
  const { runtime, bridge, orchestration, requests, choice } = await createDemo(env, { around: (store) => points?.around(store) ?? store })
  const restateUrl = restateUrlFrom(env)
  const worker = restateUrl === undefined ? undefined : await listenForRestate(runtime, restateUrl)
  // The runtime tells Restate at its start of all work that is due. Before that Restate must know whom to call.
  if (worker) await register(worker.url)
  await runtime.start()
  const token = await readPageToken(dataFolder)
  const api = createServer({
    runtime,
    bridge,
    orchestration,
    requests,
    auth: async (request) => (holdsToken(request, port, token) ? reader : null),
    agents: { [demoAgentName]: {} },
  })
  const group = isOneOfSeveral(env) ? { group: createServerGroup(runtime.store, processes) } : {}
  const page = {
    token,
    info: infoOf(choice, env),
    effects: () => countEffects(dataFolder),
    ...group,
    ...(points && { points }),
    pageFolder: pageFolderFrom(env),
    api,
  }
  let answer = createDemoFetch({ ...page, port })
  try {
    // One of several servers is reached through the supervisor, which has the port of the page.
    const running = await serve(
      { ...api, fetch: (request, peer) => answer(request, peer) },
      { host: '127.0.0.1', port: isOneOfSeveral(env) ? 0 : port },
    )
    if (port === 0) {
      port = Number(new URL(running.url).port)
      answer = createDemoFetch({ ...page, port })
    }
    return {
      ...running,
      runtimeId: runtime.id,
      async close(options) {
        await running.close(options)
        await worker?.close()
      },
    }
  } catch (error) {
    await runtime.stop()
    throw error
  }
}

/** Lets Restate place the sessions. Its code is loaded only then. */
async function listenForRestate(runtime: Runtime, url: string): Promise<Listening> {
  const { sessionsOn } = await import('@bowline/restate')
  // The SDK warns of each invocation that a kill or a stop cuts. Restate repeats them.
  return sessionsOn(runtime, { url }).listen({ port: 0, onWarning: () => undefined })
}

function infoOf(choice: ModelChoice, env: Environment): Omit<StudioInfo, 'effects' | 'servers'> {
  const { model, offline, keyVariable, problem } = choice
  return {
    model: { provider: model.provider.split('.')[0] ?? model.provider, modelId: model.modelId, offline, madeUpPrices: offline },
    ...(keyVariable !== undefined && { keyVariable }),
    ...(problem && { problem }),
    canKill: canKill(env),
    phrases,
  }
}

function canKill(env: Environment): boolean {
  return env.NODE_ENV !== 'production'
}
