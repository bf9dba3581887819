import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { workerEnvironment } from '../../src/executors/worker/environment.ts'
import { keepStderr } from '../../src/executors/worker/stderr-ring.ts'
import { workerExecutor } from '../../src/index.ts'
import type { WorkerExecutorOptions, WorkerOptions } from '../../src/index.ts'

describe('options of the worker executor', () => {
  it.each<[string, object, string | RegExp]>([
    ['an id that is none', { id: ' ', command: 'x' }, 'workers[0].id must be an id'],
    ['neither command nor entry', { id: 'a' }, 'workers[0] must have either a command or an entry'],
    ['both', { id: 'a', command: 'x', entry: 'y' }, 'workers[0] must have either a command or an entry'],
    [
      'an entry on another machine',
      { id: 'a', entry: 'file://far/agent.ts' },
      'workers[0].entry must be a path or the URL of a file on this machine; received "file://far/agent.ts"',
    ],
    ['an empty command', { id: 'a', command: '' }, 'workers[0].command must be a text with at least one character; received an empty text'],
    ['args that are one text', { id: 'a', command: 'x', args: '-c' }, 'workers[0].args must be a list; received a text of 2 characters'],
    ['an unknown option', { id: 'a', command: 'x', shell: true }, 'workers[0] has no option "shell"'],
    ['an unknown limit', { id: 'a', command: 'x', restart: { forever: true } }, 'workers[0].restart has no option "forever"'],
    ['no instances', { id: 'a', command: 'x', instances: 0 }, 'workers[0].instances must be a whole number from 1; received 0'],
    [
      'a time that is none',
      { id: 'a', command: 'x', startTimeoutMs: 0.5 },
      'workers[0].startTimeoutMs must be a whole number from 1; received 0.5',
    ],
    ['another handshake', { id: 'a', command: 'x', handshake: 'none' }, 'workers[0].handshake must be one of acp, token; received "none"'],
    [
      'permissions by default',
      { id: 'a', command: 'x', permissions: 'allow' },
      'workers[0].permissions must be one of ask, deny; received "allow"',
    ],
    ['a variable that is no text', { id: 'a', command: 'x', env: { A: 1 } }, 'workers[0].env.A must be a text; received 1'],
  ])('B2: %s is refused', (_, worker, message) => {
    expect(() => workerExecutor({ workers: [worker as WorkerOptions] })).toThrow(message)
  })

  it('B2: so are two workers with one id, and invalid options', () => {
    const worker = { id: 'a', command: 'x' }
    expect(() => workerExecutor({ workers: [worker, worker] })).toThrow('workers[1].id: two workers have the id a')
    expect(() => workerExecutor({ workers: [], retries: 3 } as WorkerExecutorOptions)).toThrow(
      'workerExecutor.options has no option "retries"',
    )
    expect(() => workerExecutor({ workers: [], cancelGraceMs: -1 })).toThrow('cancelGraceMs')
  })

  it('B16: sessions of workers do not expire, unless the options say so', () => {
    expect(workerExecutor({ workers: [] }).limits).toEqual({ ttlMs: 0, idleMs: 0, maxSessions: 1000, inactivityMs: 120_000 })
    expect(workerExecutor({ workers: [], idleMs: 5, maxSessions: 2 }).limits).toMatchObject({ idleMs: 5, maxSessions: 2 })
  })

  it('B6: before the start its workers are listed as unavailable', () => {
    const executor = workerExecutor({ workers: [{ id: 'a', command: 'x', capabilities: ['c'] }] })
    expect(executor.agents()).toEqual([{ id: 'a', capabilities: ['c'], status: 'unavailable', reason: 'not started', durable: false }])
    expect(executor.health()).toEqual({ healthy: false, workers: [] })
  })
})

describe('the input of a worker, and its stderr', () => {
  it('B75: names on the list match in any letter case, and secrets are left out', () => {
    const own = {
      Path: 'p',
      LC_ALL: 'C',
      SystemRoot: 'w',
      OPENAI_API_KEY: 'k',
      BOWLINE_BRIDGE_TOKEN: 't',
      NODE_OPTIONS: '-r x',
      TZ: undefined,
    }
    expect(workerEnvironment({ env: { A: '1', LC_ALL: 'de' } }, own)).toEqual({ Path: 'p', LC_ALL: 'de', SystemRoot: 'w', A: '1' })
    expect(Object.keys(workerEnvironment({ inheritEnv: true }, own))).toEqual([
      'Path',
      'LC_ALL',
      'SystemRoot',
      'OPENAI_API_KEY',
      'NODE_OPTIONS',
    ])
  })

  it('B85: the last 64 KiB of stderr are kept', async () => {
    const stderr = new PassThrough()
    const ring = keepStderr(stderr)
    for (let line = 0; line < 10_000; line += 1) stderr.write(`line ${line}\n`.padEnd(64, '.'))
    stderr.end('the end')
    await new Promise((resolve) => stderr.once('end', resolve))
    expect(ring.tail(7)).toBe('the end')
    expect(ring.tail(1_000_000).length).toBe(64 * 1024)
    expect(ring.tail(1_000_000).endsWith('the end')).toBe(true)
  })
})
