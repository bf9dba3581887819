// Runs before the packages of protocols are installed: all else loads, and an error names the package that is missing.
import assert from 'node:assert/strict'
import { defineAgent } from '@bowline/agent-loop'
import { createBridge, workerExecutor } from '@bowline/bridge'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'

const needs = {
  '@bowline/bridge/worker': '@agentclientprotocol/sdk',
  '@bowline/bridge/mcp': '@modelcontextprotocol/server',
}

for (const entry of process.argv.slice(2)) {
  if (entry in needs) await assert.rejects(import(entry), new RegExp(`Cannot find package '${needs[entry]}'`))
  else await import(entry)
}

const bridge = createBridge({ executors: [workerExecutor({ workers: [{ id: 'reviewer', command: 'node' }] })] })
await assert.rejects(bridge.start(), { code: 'CONFIG', message: /npm install @agentclientprotocol\/sdk$/ })

const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
const reason = new Promise((resolve) => {
  const logger = { info() {}, warn() {}, error: (fields) => resolve(fields.reason) }
  createServer({ runtime, auth: 'none', bridge: createBridge(), logger })
})
assert.match(await reason, /bridge needs the package @modelcontextprotocol\/server; run: npm install @modelcontextprotocol\/server$/)
