import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import type { WorkerOptions } from '../../src/index.ts'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { fixtureFile } from '../programs.ts'
import { atEnd, brokenWorker, eventually, foreignWorker, isRunning, servedWorker, toldFile } from './support.ts'

/** Starts a process that holds an executor. Returns what it printed before it was ready. */
async function startHost(worker: WorkerOptions, prompt = ''): Promise<{ readonly said: readonly string[]; kill(): void }> {
  const args = [...nodeFlags, fixtureFile('worker/fixtures/host'), prompt, JSON.stringify({ ...worker, id: 'w' })]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(async () => void child.kill('SIGKILL'))
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'ready') return { said, kill: () => void child.kill('SIGKILL') }
    said.push(line)
  }
  throw new Error('the host ended')
}

describe('when the process of the bridge is killed', () => {
  it('B91: no worker and no child of one lives longer than 5 s', async () => {
    const { said, kill } = await startHost(foreignWorker(), 'child')
    const [worker, child] = (said[0] ?? '').split(' ').map(Number) as [number, number]
    expect([isRunning(worker), isRunning(child)]).toEqual([true, true])
    kill()
    await eventually('both have ended', () => !isRunning(worker) && !isRunning(child), 5000)
  })

  it('B91: also not one that ignores the end of its stdin and SIGTERM', async () => {
    const { env, told } = await toldFile()
    const { kill } = await startHost(brokenWorker('stubborn', { env }))
    const pid = told()[0]?.['pid'] as number
    expect(isRunning(pid)).toBe(true)
    kill()
    await eventually('it has ended', () => !isRunning(pid), 5000)
  })

  it('B91: serveWorker ends on its own, without a guard', async () => {
    const { said, kill } = await startHost(servedWorker({ guard: false }), 'token')
    const { own } = JSON.parse(said[0] ?? '{}') as { own: { WORKER_PID: string } }
    expect(isRunning(Number(own.WORKER_PID))).toBe(true)
    kill()
    await eventually('it has ended', () => !isRunning(Number(own.WORKER_PID)), 5000)
  })
})
