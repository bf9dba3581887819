import { defineAgent } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { createNodeServer } from '../node/create-node-server.ts'
import type { Metrics } from '../observe/metrics.ts'
import { consoleLogger } from '../options.ts'
import type { CommandCall, Outcome } from './command.ts'
import { readConfig } from './read-config.ts'
import { serverOptions } from './server-options.ts'

export async function printOpenApi(call: CommandCall): Promise<Outcome> {
  const config = await readConfig(call, [])
  // The document depends only on the routes: no agent and no store is needed.
  const nobody = defineAgent({ name: 'nobody', model: () => Promise.resolve([]) })
  const options = serverOptions(config)
  const runtime = createRuntime({ agents: [nobody] })
  // Only the document may be written to the standard output.
  const quiet = { ...options, logger: consoleLogger, routes: { ...options.routes, openapi: true } }
  const server = await createNodeServer({ ...quiet, runtime, auth: 'none', metrics: unread })
  const request = new Request(`http://localhost${config.values.basePath}/openapi.json`)
  const answer = await server.fetch(request, { remoteAddress: '127.0.0.1' })
  await call.print(JSON.stringify(await answer.json(), undefined, 2))
  return 'done'
}

/** The document has the route of the metrics, and the command reads none. */
const unread: Metrics = { contentType: 'text/plain', text: () => Promise.resolve('') }
