import { systemClock } from '@bowline/llm'
import { createServer } from '@bowline/server'
import type { Principal } from '@bowline/server'
import { serve } from '@bowline/server/node'
import type { RunningServer } from '@bowline/server/node'
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
import { dataFolderFrom, isOneOfSeveral, pageFolderFrom, portFrom } from './settings.ts'
import type { Environment } from './settings.ts'

const reader: Principal = {
  id: 'page',
  tenant: demoTenant,
  scopes: ['agents:read', 'sessions:read', 'sessions:write', 'sessions:delete', 'approvals', 'mcp', 'requests:read'],
}

export interface StartedServer extends RunningServer {
  readonly runtimeId: string
}

/**
 * Starts store, runtime, API and page in this process. `processes` returns all server processes, if this is one of several. Throws
 * for a fault of the environment.
 */
export async function startServer(env: Environment, processes: () => readonly ServerProcess[]): Promise<StartedServer> {
  let port = portFrom(env)
  const dataFolder = dataFolderFrom(env)
  const points = canKill(env) ? createKillPoints(dataFolder, systemClock) : undefined
  const { runtime, bridge, orchestration, requests, choice } = await createDemo(env, { around: (store) => points?.around(store) ?? store })
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
    return { ...running, runtimeId: runtime.id }
  } catch (error) {
    await runtime.stop()
    throw error
  }
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
