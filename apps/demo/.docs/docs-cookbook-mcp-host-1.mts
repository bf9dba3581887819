import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { defineBridgeConfig, inProcessExecutor, runtimeAgent } from '@bowline/bridge'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const writer = defineAgent({ name: 'writer', description: 'Writes short texts.', model: openai('gpt-5.1') })
const runtime = createRuntime({ agents: [writer], store: sqliteStore({ file: '/var/lib/agents/bridge.db' }) }) // one file for each host
export default defineBridgeConfig({
  runtimes: [runtime],
  executors: [inProcessExecutor({ agents: [runtimeAgent(runtime, { agent: 'writer' })] })],
  defaultAgentId: 'writer',
})

export {}
