import childProcess from 'node:child_process'
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, it } from 'vitest'
import { ask, foreignWorker, openSession, startWorkers } from './support.ts'

const { spawn } = childProcess

/** Replaces `spawn` for all modules, also for those that are already loaded. */
function replaceSpawn(next: typeof spawn): void {
  childProcess.spawn = next
  syncBuiltinESMExports()
}

afterEach(() => replaceSpawn(spawn))

/** Makes the next start fail as in a process without file descriptors: the child has no streams, and an error follows in the next tick. */
function runOutOfDescriptors(): void {
  replaceSpawn((() => {
    replaceSpawn(spawn)
    const child = new EventEmitter()
    process.nextTick(() => child.emit('error', Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' })))
    return child
  }) as unknown as typeof spawn)
}

it.each([true, false])('B83: a worker is started again after the file descriptors ran out (guard: %s)', async (guard) => {
  runOutOfDescriptors()
  const { executor, becomes } = await startWorkers([foreignWorker([], { guard, restart: { backoffMs: 1 } })])
  await becomes('ready')
  expect(executor.health().workers).toEqual([{ id: 'foreign', state: 'ready', restarts: 1 }])
  expect((await ask(executor, await openSession(executor, 'foreign'), 'stream')).text).toBe('one two three')
})
