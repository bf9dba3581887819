import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as root from '../src/index.ts'
import * as worker from '../src/worker/index.ts'
import * as mcp from '../src/mcp/index.ts'
import { bridgeTools } from '../src/mcp/tools.ts'
import { packagesLoadedWith } from './static-imports.ts'

describe('the public surface', () => {
  it('exports of the package', () => {
    expect(Object.keys(root).sort()).toEqual([
      'BridgeError',
      'bridgeErrorCodes',
      'createBridge',
      'defineBridgeAgent',
      'defineBridgeConfig',
      'delegateTool',
      'inProcessExecutor',
      'multiProviderAgent',
      'remoteExecutor',
      'runtimeAgent',
      'workerExecutor',
    ])
    expect(Object.keys(mcp).sort()).toEqual(['createBridgeMcpHandler', 'createBridgeMcpServer'])
    expect(Object.keys(worker)).toEqual(['serveWorker'])
  })

  it('a program without workers does not load the protocol of workers', () => {
    const loaded = packagesLoadedWith(join(import.meta.dirname, '../src/index.ts'))
    expect(loaded).toContain('@bowline/llm')
    expect(loaded).not.toContain('@agentclientprotocol/sdk')
  })

  it('names of tools', () => {
    expect(bridgeTools.map(({ name }) => name)).toEqual([
      ...['bridge_health', 'agents_discover', 'sessions_create', 'sessions_prompt', 'sessions_status', 'sessions_list'],
      ...['sessions_cancel', 'sessions_close', 'tasks_delegate', 'tasks_status', 'tasks_list'],
    ])
  })

  it('error codes', () => {
    expect(root.bridgeErrorCodes).toEqual([
      ...['CONFIG', 'AUTH', 'UPSTREAM', 'TIMEOUT', 'TRANSPORT', 'PROTOCOL'],
      ...['INTERNAL', 'CAPACITY', 'NOT_FOUND', 'BUSY', 'EXPIRED'],
    ])
  })
})

it('a value that throws when it is inspected is not a BridgeError', () => {
  const hostile = new Proxy(
    {},
    {
      has() {
        throw new Error('looked at')
      },
    },
  )
  expect(root.BridgeError.isInstance(hostile)).toBe(false)
})
