import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { demoAgentName } from '../../../src/server/agents.ts'
import { createDemoFetch } from '../../../src/server/demo-fetch.ts'
import { countEffects } from '../../../src/server/effects.ts'
import { holdsToken } from '../../../src/server/page-token.ts'
import { demoTenant, sessionKeyOf } from '../../../src/server/session-key.ts'
import { freePort } from '../../../src/supervisor/free-port.ts'
import { phrases } from '../../../src/phrases.ts'
import { makeDataFolder, removeDataFolder } from '../../demo-process.ts'
import { eventsOf, record, recorded } from './record.ts'
import type { RecordedId } from './record.ts'
import { createWorld } from './world.ts'
import type { World } from './world.ts'

const scopes = ['agents:read', 'sessions:read', 'sessions:write', 'sessions:delete', 'approvals', 'requests:read'] as const

export interface Recording {
  readonly url: string
  readonly world: World
  /** Time at which the clock stands. */
  readonly now: number
  /** Returns the address of a session. */
  at(id: RecordedId): string
  /** Returns all logs as text, without the ids of background tasks, which are random. */
  logs(): Promise<string>
  /** Changes the token of the page: its current one is refused from now on. */
  expireToken(): void
  close(): Promise<void>
}

/** True after the first recording: each one executes the same code, so later ones import nothing. */
let isLoaded = false

/** Starts a server in this process with the page and newly recorded sessions. */
export async function openRecording(pageFolder: string): Promise<Recording> {
  const dataFolder = await makeDataFolder()
  const world = await createWorld(dataFolder, isLoaded)
  const runtime = await record(world)
  isLoaded = true
  const port = await freePort(0)
  let token = 'token-1'
  const api = createServer({
    runtime,
    orchestration: world.orchestration,
    requests: world.requests,
    auth: async (request) => (holdsToken(request, port, token) ? { id: 'page', tenant: demoTenant, scopes } : null),
    agents: { [demoAgentName]: {} },
  })
  const info = { model: { provider: 'offline', modelId: 'bowline-offline', offline: true, madeUpPrices: true }, canKill: true, phrases }
  const page = { port, info, effects: () => countEffects(dataFolder), pageFolder, api }
  const running = await serve(
    { ...api, fetch: (request, peer) => createDemoFetch({ ...page, token })(request, peer) },
    { host: '127.0.0.1', port },
  )
  return {
    url: running.url,
    world,
    now: world.now(),
    at: (id) => `${running.url}/#/s/${id}`,
    expireToken: () => void (token = 'token-2'),
    logs: async () =>
      JSON.stringify(await Promise.all(Object.keys(recorded).map((id) => eventsOf(runtime.session(sessionKeyOf(id))))), null, 1).replaceAll(
        /bg_[0-9a-f]{32}/g,
        'bg',
      ),
    async close() {
      await running.close({ drainMs: 0 })
      await removeDataFolder(dataFolder)
    },
  }
}
