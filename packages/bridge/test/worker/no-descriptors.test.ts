import type * as childProcess from 'node:child_process'
import { EventEmitter } from 'node:events'
import { expect, it, vi } from 'vitest'
import { ask, foreignWorker, openSession, startWorkers } from './support.ts'

const starts = vi.hoisted(() => ({ failures: 0 }))

/** What Node returns when it has no file descriptors for the pipes of a child: no streams, and an error in the next tick. */
vi.mock('node:child_process', async (importActual) => {
  const actual = await importActual<typeof childProcess>()
  return {
    ...actual,
    spawn(...given: Parameters<typeof actual.spawn>) {
      if (starts.failures === 0) return actual.spawn(...given)
      starts.failures -= 1
      const child = new EventEmitter()
      process.nextTick(() => child.emit('error', Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' })))
      return child
    },
  }
})

it.each([true, false])('B83: a worker is started again after the file descriptors ran out (guard: %s)', async (guard) => {
  starts.failures = 1
  const { executor, becomes } = await startWorkers([foreignWorker([], { guard, restart: { backoffMs: 1 } })])
  await becomes('ready')
  expect(executor.health().workers).toEqual([{ id: 'foreign', state: 'ready', restarts: 1 }])
  expect((await ask(executor, await openSession(executor, 'foreign'), 'stream')).text).toBe('one two three')
})
