import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '@bowline/llm'
import { SessionError, type StateSearch, type StateStore } from '@bowline/sessions'
import { afterAll } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import type { StoreAnswer, StoreCall } from './fixtures/state-process.ts'
import type { StatePlace } from './state-place.ts'

/** Starts another process at the first call, and ends it after the tests of this file. Its stores are called like local ones. */
export function stateProcess(): (place: StatePlace, clock?: Clock) => StateStore {
  let child: ChildProcess | undefined
  let calls = 0
  const waiting = new Map<number, (answer: StoreAnswer) => void>()
  afterAll(async () => {
    if (!child) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })

  function start(): ChildProcess {
    const started = fork(program('sessions/test/state/fixtures/state-process'), { execArgv: [...nodeFlags], serialization: 'advanced' })
    started.on('message', (answer: StoreAnswer) => waiting.get(answer.call)?.(answer))
    return started
  }
  function send(call: Omit<StoreCall, 'call'>): Promise<unknown> {
    child ??= start()
    const number = ++calls
    child.send({ ...call, call: number } satisfies StoreCall)
    return new Promise((resolve, reject) => {
      waiting.set(number, ({ result, error }) => {
        waiting.delete(number)
        if (error) reject(error.code ? new SessionError(error.code, error.message) : new Error(error.message))
        else resolve(result)
      })
    })
  }
  return (place, clock) => {
    const method = <Name extends keyof StateStore>(name: Name) =>
      ((...args: readonly unknown[]) => send({ place, method: name, args, ...(clock && { now: clock.now() }) })) as StateStore[Name]
    const { kind } = place
    const searched =
      (name: 'find' | 'count') =>
      async (...args: readonly unknown[]) =>
        send({ place, method: `search.${name}`, args, ...(clock && { now: clock.now() }) })
    return {
      ...(kind === 'postgres' && {
        search: { kind: 'tsvector', find: searched('find') as StateSearch['find'], count: searched('count') as StateSearch['count'] },
      }),
      get: method('get'),
      compareAndSet: method('compareAndSet'),
      touch: method('touch'),
      delete: method('delete'),
      list: method('list'),
      sweep: method('sweep'),
      close: method('close'),
    }
  }
}
