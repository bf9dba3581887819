import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')

/** Runs a program that does nothing but wait for the bridge. */
function run(code: string): ReturnType<typeof spawnSync> {
  const flags = [...bundledFlags(), '--input-type=module-typescript']
  const imports = `import { createBridge, inProcessExecutor, remoteExecutor, workerExecutor } from '@bowline/bridge'`
  return spawnSync(process.execPath, [...flags, '--eval', `${imports}\n${code}`], { cwd: folder, encoding: 'utf8' })
}

describe('an open call keeps its process running', () => {
  it('B83: while a worker waits for its restart', () => {
    const program = run(`
      const worker = { id: 'short', command: process.execPath, args: ['-e', ''], restart: { maxRestarts: 2, backoffMs: 20 } }
      const bridge = createBridge({ executors: [workerExecutor({ workers: [worker] })] })
      await bridge.start()
      const result = await bridge.delegate({ prompt: 'hi' }).result()
      console.log(result.error.details.reason)
      await bridge.stop()`)
    expect([program.stdout, program.status]).toEqual(['worker-unavailable\n', 0])
  })

  it('B93: while the bridge looks for a server that cannot be reached', () => {
    const program = run(`
      const server = { id: 'far', baseUrl: 'http://127.0.0.1:1', token: 't', agents: ['writer'] }
      const bridge = createBridge({ executors: [remoteExecutor({ servers: [server] })] })
      await bridge.start()
      console.log(bridge.health().healthy)
      await bridge.stop()`)
    expect([program.stdout, program.status]).toEqual(['false\n', 0])
  })

  it('B42: while an agent sends nothing, and no longer', () => {
    const program = run(`
      const silent = { specificationVersion: 'v1', info: { id: 'silent' }, onPrompt: () => new Promise(() => {}) }
      const bridge = createBridge({ executors: [inProcessExecutor({ agents: [silent] })], cancelGraceMs: 20 })
      await bridge.start()
      const result = await bridge.delegate({ prompt: 'hi', timeoutMs: 50 }).result()
      console.log(result.error.code)`)
    expect([program.stdout, program.status]).toEqual(['TIMEOUT\n', 0])
  })
})
