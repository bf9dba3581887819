// An MCP host that delegates work to an agent in a worker process. The host only speaks MCP. `bowline-bridge` starts the worker,
// communicates with it over the Agent Client Protocol, and offers it as tools.
//
//   npm install @bowline/bridge @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   npm install @agentclientprotocol/sdk @modelcontextprotocol/server @modelcontextprotocol/client
//   node main.ts "A text to review"

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const host = new Client({ name: 'my-host', version: '1.0.0' })
const bridge = new StdioClientTransport({
  command: 'npx',
  args: ['bowline-bridge', '--config', 'bowline.bridge.ts', '--log-level', 'error'],
  cwd: import.meta.dirname,
  env: { ...(process.env as Record<string, string>) },
})
await host.connect(bridge)

const { tools } = await host.listTools()
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`)

/** Calls a tool of the bridge and returns its result as an object. */
async function call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const result = await host.callTool({ name, arguments: input })
  if (result.isError === true) throw new Error(JSON.stringify(result.content))
  return result.structuredContent as Record<string, unknown>
}

const { sessionId } = await call('sessions_create', { agentId: 'reviewer' })
for (const prompt of [process.argv[2] ?? 'Tie the knot.', 'Read it again.']) {
  const { status, text } = await call('sessions_prompt', { sessionId, prompt })
  console.log(`${String(status)}: ${String(text)}`)
}
await call('sessions_close', { sessionId })
await host.close()
