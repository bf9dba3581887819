import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer, createToken } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'

const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
const { token, config } = await createToken({ id: 'ci', tenant: 'acme', scopes: ['sessions:read', 'sessions:write'] })
const server = createServer({ runtime, auth: { tokens: [config] }, hosts: ['bowline.example'], cors: { origins: ['https://app.example'] } })

const request = new Request('https://bowline.example/api/me', { headers: { authorization: `Bearer ${token}`, host: 'bowline.example' } })
const answer = await server.fetch(request, { remoteAddress: '127.0.0.1' })
const { id, tenant, scopes } = (await answer.json()) as Record<string, unknown>
console.log(id, tenant, scopes) // → ci acme [ 'sessions:read', 'sessions:write' ]
await server.close()

export {}
