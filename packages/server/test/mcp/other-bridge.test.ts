import { createBridge } from '@bowline/bridge'
import { versionMark } from '@bowline/llm/arguments'
import { createServer } from '@bowline/server'
import { expect, it } from 'vitest'
import { idleRuntime } from '../support/bench.ts'

it('S208: a server with a bridge of another version logs both versions before the first request', async () => {
  const bridge = createBridge()
  Object.assign(bridge, versionMark({ name: '@bowline/bridge', version: '99.1.2' }))
  const logged = new Promise((resolve) => {
    const nothing = (): void => undefined
    const logger = { info: nothing, warn: nothing, error: (...entry: readonly unknown[]) => resolve(entry) }
    createServer({ runtime: idleRuntime(), auth: 'none', bridge, logger })
  })
  expect(await logged).toEqual([
    expect.objectContaining({
      code: 'CONFIG',
      reason: expect.stringContaining('bridge was made with @bowline/bridge 99.1.2, but @bowline/bridge ') as string,
    }),
    'the bridge cannot be served over MCP',
  ])
})
