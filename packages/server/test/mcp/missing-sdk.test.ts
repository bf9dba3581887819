import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineAgent } from '@bowline/agent-loop'
import { createBridge, defineBridgeAgent, inProcessExecutor } from '@bowline/bridge'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { expect, it, vi } from 'vitest'
import { withoutPackages } from '../support/without-packages.ts'

vi.mock('../../src/mcp/mcp-gate.ts', () => {
  throw new TypeError('Cannot find package')
})

it('V82: a server that could not load the MCP SDK says so when it is closed, and stops its runtime', async () => {
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
  const stop = vi.spyOn(runtime, 'stop')
  const agent = defineBridgeAgent({
    specificationVersion: 'v1',
    info: { id: 'echo' },
    onPrompt: async ({ prompt }) => ({ text: prompt, stopReason: 'end_turn' }),
  })
  const nothing = (): void => undefined
  const logger = { info: nothing, warn: nothing, error: vi.fn() }
  const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })] })
  const server = createServer({ runtime, auth: 'none', bridge, logger })
  await expect(server.close({ drainMs: 0 })).rejects.toThrow()
  expect(stop).toHaveBeenCalledOnce()
  expect(logger.error).toHaveBeenCalledOnce()
})

it('V82: a server without the MCP SDK logs at once how to install it, and requests to MCP fail', async () => {
  const script = `
    import { defineAgent } from '@bowline/agent-loop'
    import { createBridge } from '@bowline/bridge'
    import { scriptedModel } from '@bowline/llm/testing'
    import { createServer } from '@bowline/server'
    import { createRuntime } from '@bowline/sessions'
    const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
    const nothing = () => {}
    const reason = new Promise((resolve) => {
      const logger = { info: nothing, warn: nothing, error: (fields) => resolve(fields.reason) }
      globalThis.server = createServer({ runtime, auth: 'none', bridge: createBridge(), logger })
    })
    console.log(await reason)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })
    console.log((await server.fetch(request, { remoteAddress: '127.0.0.1' })).status)`
  const args = [...withoutPackages, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '../..') })
  expect(stdout).toBe(
    'ServerError: bridge needs the package @modelcontextprotocol/server; run: npm install @modelcontextprotocol/server\n500\n',
  )
})
