import { afterEach, describe, expect, it, vi } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import { failureOf, testAgent } from './support.ts'

afterEach(() => void vi.restoreAllMocks())

describe('the logger of a bridge that was given none', () => {
  it('B34, B67: what an agent throws may be in circles: the caller is told, and the session free', async () => {
    const lines: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
    const circular = Object.assign(new Error('no route'), { count: 1n, request: {} })
    circular.request = { error: circular }
    const agent = testAgent('a', {
      onPrompt: () => {
        throw circular
      },
    })
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })] })
    await bridge.start()
    const run = bridge.delegate({ prompt: 'hi', requestId: 'r1' })
    expect(failureOf(await run.result())).toMatchObject({ code: 'UPSTREAM', message: 'Agent a failed' })
    expect(failureOf(await bridge.request('r1')).code).toBe('UPSTREAM')
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0 } })
    await bridge.stop()
    const told = lines.filter((line) => line.includes('the agent failed'))
    expect(told).toHaveLength(1)
    expect((JSON.parse(told[0] as string) as { fields: string }).fields).toContain('no route')
  })
})
