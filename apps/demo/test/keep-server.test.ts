import { describe, expect, it, onTestFinished } from 'vitest'
import { keepServer } from '../src/supervisor/keep-server.ts'
import type { ReadyServer } from '../src/supervisor/keep-server.ts'
import { testDatabase } from '../../../scripts/postgres.ts'
import { demoEnv, makeDataFolder, removeDataFolder } from './demo-process.ts'

const unreachable = 'postgresql://127.0.0.1:1/demo'

/** Keeps a server until the end of the test. `ready` and `gone` resolve with the next event. */
async function keep(store: string) {
  const dataFolder = await makeDataFolder()
  const env = { ...demoEnv(dataFolder), DEMO_STORE: store }
  let ready = Promise.withResolvers<ReadyServer>()
  let gone = Promise.withResolvers<string>()
  const server = keepServer({ env, onReady: (up) => ready.resolve(up), onGone: (exit) => gone.resolve(exit) })
  onTestFinished(async () => {
    server.stop()
    await server.ended
    await removeDataFolder(dataFolder)
  })
  return {
    env,
    ended: server.ended,
    async ready() {
      const up = await ready.promise
      ready = Promise.withResolvers()
      return up
    },
    async gone() {
      const exit = await gone.promise
      gone = Promise.withResolvers()
      return exit
    },
  }
}

describe('a server under supervision', { timeout: 60_000 }, () => {
  const database = testDatabase()

  it('is not given up if its store is out of reach for a while, and is back at the same address', async () => {
    const { env, ready, gone } = await keep(database.url)
    const { pid, url } = await ready()
    env.DEMO_STORE = unreachable
    process.kill(pid, 'SIGKILL')
    expect(await gone()).toBe('SIGKILL')
    expect(await gone()).toContain('Postgres cannot be reached')
    env.DEMO_STORE = database.url
    const next = await ready()
    expect(next.pid).not.toBe(pid)
    expect(next.url).toBe(url)
  })

  it('is given up if its store was never reachable', async () => {
    const { ended } = await keep(unreachable)
    expect(await ended).toMatchObject({ type: 'refused', reason: 'store' })
  })
})
