import type { Agent } from '@bowline/agent-loop'
import type { Auth } from '@bowline/server'
import { createNodeServer, pinoLogger, prometheusMetrics, tracedRuns } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

declare const agents: readonly Agent[]
declare const auth: Auth
const metrics = prometheusMetrics()
const store = metrics.measure(sqliteStore({ file: 'data.db' })) // figures of runs need the measured store
const runtime = createRuntime({ agents, ...tracedRuns({ store }) })
const logger = pinoLogger({ level: 'info' })
export const server = createNodeServer({ runtime, auth, metrics, logger, onAudit: (record) => logger.info({ ...record }, 'audit') })

export {}
