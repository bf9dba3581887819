import { defineAgent } from '@bowline/agent-loop'
import { createBridge, defineBridgeAgent, inProcessExecutor } from '@bowline/bridge'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { expect, it, vi } from 'vitest'

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
