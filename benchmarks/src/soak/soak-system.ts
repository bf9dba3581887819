import { once } from 'node:events'
import { createServer as createReceiver } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBridge, inProcessExecutor, runtimeAgent, type Bridge } from '@bowline/bridge'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime, type Runtime, type SessionStore } from '@bowline/sessions'
import { quiet } from '../bridge-echo.ts'
import { contenderAgent } from '../contenders/bowline.ts'
import { functionModel } from '../contenders/bowline-function.ts'

/** Everything that one process of an application may have: a runtime, a bridge, a server, and a receiver of its webhooks. */
export interface SoakSystem {
  readonly runtime: Runtime
  readonly bridge: Bridge
  readonly url: string
  /** Number of notices that the receiver got. */
  readonly notices: () => number
  /** Faults in the background. */
  readonly faults: readonly string[]
  stop(): Promise<void>
}

const many = 1_000_000
const unlimited = {
  streams: many,
  streamsPerPrincipal: many,
  streamsPerSession: many,
  requestsPerMinute: many,
  workPerMinute: many,
  runsPerTenant: many,
}
const answers = [{ text: 20 }]
/** Sessions of the bridge that callers never close end after this time in ms. */
const idleMs = 20_000

export async function startSystem(store: SessionStore): Promise<SoakSystem> {
  const faults: string[] = []
  const receiver = await startReceiver()
  const runtime = createRuntime({
    store,
    agents: [contenderAgent(functionModel(answers), answers.length)],
    notify: { url: receiver.url, events: ['settled'], secret: 'a secret of the soak' },
    webhooks: { http: true, allow: ['127.0.0.1'] },
    onError: (error, { during }) => faults.push(`${during}: ${String(error)}`),
  })
  await runtime.start({ keepAlive: true })
  const agents = [runtimeAgent(runtime, { agent: 'contender', onClose: 'delete' })]
  const executors = [inProcessExecutor({ agents, maxSessions: many, idleMs })]
  const bridge = createBridge({ executors, store: store.state, logger: quiet, maxRequestRecords: 500, maxSessionsPerOwner: many })
  await bridge.start()
  const server = await serve(createServer({ runtime, bridge, auth: 'none', limits: unlimited }), { port: 0 })
  return {
    runtime,
    bridge,
    url: server.url,
    notices: receiver.count,
    faults,
    async stop() {
      await bridge.stop({ deadlineMs: 5_000 })
      await server.close()
      await runtime.stop()
      await receiver.close()
    },
  }
}

async function startReceiver(): Promise<{ readonly url: string; readonly count: () => number; close(): Promise<void> }> {
  let count = 0
  const receiver = createReceiver((request, response) => {
    request.resume()
    request.once('end', () => {
      count += 1
      response.writeHead(204).end()
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    count: () => count,
    async close() {
      receiver.closeAllConnections()
      receiver.close()
      await once(receiver, 'close')
    },
  }
}
