// node server-child.ts [file]: a server on a memory store or a SQLite file, for load from another process.
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { contenderAgent } from './contenders/bowline.ts'
import { pacedModel } from './paced-model.ts'
import type { ServerFigures } from './server-process.ts'

const [file] = process.argv.slice(2)
const many = 1_000_000
const store = file === undefined ? memoryStore() : sqliteStore({ file })
const runtime = createRuntime({ agents: [contenderAgent(pacedModel, 200)], store, concurrency: 1000 })
await runtime.start()
const limits = {
  streams: many,
  streamsPerPrincipal: many,
  streamsPerSession: many,
  requestsPerMinute: many,
  workPerMinute: many,
  runsPerTenant: many,
}
const { url } = await serve(createServer({ runtime, auth: 'none', limits }), { port: 0 })

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  const figures: ServerFigures = { cpuMs: (user + system) / 1000, rssBytes: rss, heldBytes: heapUsed + external }
  process.send?.(figures)
})
process.on('disconnect', () => process.exit(0))
process.send?.({ url })
