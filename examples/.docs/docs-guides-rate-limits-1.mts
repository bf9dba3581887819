import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createNodeServer, postgresRateLimiter } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import pg from 'pg' // npm install pg

const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
const auth = async () => ({ id: 'ann', tenant: 'acme', scopes: ['sessions:read' as const] }) // yours
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2, connectionTimeoutMillis: 10_000, query_timeout: 10_000 })
const server = createNodeServer({ runtime, auth, rateLimiter: postgresRateLimiter({ pool }) })

export {}
