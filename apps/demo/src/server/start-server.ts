import { mkdir } from 'node:fs/promises'
import { systemClock } from '@bowline/llm'
import { createServer } from '@bowline/server'
import type { Principal } from '@bowline/server'
import { serve } from '@bowline/server/node'
import type { RunningServer } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import type { StudioInfo } from '@bowline/studio/info'
import { offlineModel } from '../model/offline-model.ts'
import { createPace, speedFrom } from '../pace.ts'
import { phrases } from '../phrases.ts'
import { createDemoAgent, demoAgentName } from './agents.ts'
import { chooseModel } from './choose-model.ts'
import type { ModelChoice } from './choose-model.ts'
import { createStore } from './create-store.ts'
import { createDemoFetch } from './demo-fetch.ts'
import { holdsToken, readPageToken } from './page-token.ts'
import type { ServerProcess } from './process-messages.ts'
import { createServerGroup } from './server-group.ts'
import { demoTenant } from './session-key.ts'
import { dataFolderFrom, isOneOfSeveral, pageFolderFrom, portFrom } from './settings.ts'
import type { Environment } from './settings.ts'
import { storeChoiceFrom } from './store-choice.ts'

const reader: Principal = {
  id: 'page',
  tenant: demoTenant,
  scopes: ['agents:read', 'sessions:read', 'sessions:write', 'sessions:delete', 'approvals'],
}

export interface StartedServer extends RunningServer {
  readonly runtimeId: string
}

/**
 * Store, runtime, API and page in this process. `processes` gives all server processes, if this is one of several. Throws for
 * a mistake in the environment.
 */
export async function startServer(env: Environment, processes: () => readonly ServerProcess[]): Promise<StartedServer> {
  const port = portFrom(env)
  const { runtime, choice } = await createDemoRuntime(env)
  await runtime.start()
  const token = await readPageToken(dataFolderFrom(env))
  const api = createServer({
    runtime,
    auth: async (request) => (holdsToken(request, port, token) ? reader : null),
    agents: { [demoAgentName]: {} },
  })
  const group = isOneOfSeveral(env) ? { group: createServerGroup(runtime.store, processes) } : {}
  const fetch = createDemoFetch({ port, token, info: infoOf(choice, env), ...group, pageFolder: pageFolderFrom(env), api })
  try {
    // One of several is reached through the supervisor, which has the port of the page.
    const running = await serve({ ...api, fetch }, { host: '127.0.0.1', port: isOneOfSeveral(env) ? 0 : port })
    return { ...running, runtimeId: runtime.id }
  } catch (error) {
    await runtime.stop()
    throw error
  }
}

/** The demo's agent over the store and the model that the environment names. */
export async function createDemoRuntime(env: Environment) {
  const dataFolder = dataFolderFrom(env)
  await mkdir(dataFolder, { recursive: true, mode: 0o700 })
  const speed = speedFrom(env)
  const pace = createPace(speed, systemClock)
  const choice = await chooseModel(env, () => offlineModel({ pace }))
  const agent = createDemoAgent(choice.model, { pace, clock: systemClock, dataFolder }, speed)
  const store = await createStore(storeChoiceFrom(env), dataFolder)
  return { choice, runtime: createRuntime({ agents: [agent], store }) }
}

function infoOf(choice: ModelChoice, env: Environment): StudioInfo {
  const { model, offline, keyVariable, problem } = choice
  return {
    model: { provider: model.provider.split('.')[0] ?? model.provider, modelId: model.modelId, offline },
    ...(keyVariable !== undefined && { keyVariable }),
    ...(problem && { problem }),
    canKill: env.NODE_ENV !== 'production',
    phrases,
  }
}
