import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { createOrchestration, memoryStateStore, type OrchestrationOptions } from '@bowline/sessions'
import { bundledFlags } from '../../../../scripts/programs.ts'
import { bench, id, kinds, openStores, startMs, watchedStore } from './support.ts'

const stores = openStores()
const day = 86_400_000

describe('the time to live', () => {
  it.each(kinds)('O49: 500 ms are 500 ms in %s, from the last change, touch or look', async (kind) => {
    const setup = bench()
    const { orchestration } = bench({ store: await stores[kind](setup.clock), ttlMs: 500 }, setup.clock)
    await orchestration.getOrCreateState(id)
    await setup.clock.advance(499)
    expect(await orchestration.touch(id)).toBe(true)
    await setup.clock.advance(499)
    expect(await orchestration.addUsedTool(id, 'a')).toMatchObject({ lastAccessed: startMs + 998, ttl: 500 })
    await setup.clock.advance(499)
    expect(await orchestration.getState(id)).not.toBeNull()
    await setup.clock.advance(500)
    expect(await orchestration.getState(id)).toBeNull()
    expect(await orchestration.touch(id)).toBe(false)
  })

  it('O50: is 24 hours on every path by default', async () => {
    const { orchestration } = bench()
    const ways = [
      () => orchestration.getOrCreateState(id),
      () => orchestration.updateState(id, { data: {} }),
      () => orchestration.recordToolUse(id, 'a'),
      () => orchestration.setActiveStep(id, 'plan'),
      () => orchestration.resetState(id),
      async () => ((await orchestration.touch(id)) ? orchestration.getState(id) : null),
    ]
    for (const way of ways) expect(await way()).toMatchObject({ ttl: day })
  })

  it.each([
    [{}, { SESSION_TTL_SECONDS: '2' }, 2_000],
    [{}, { SESSION_TTL_SECONDS: '0.5' }, 500],
    [{}, { SESSION_TTL_SECONDS: 'never' }, 'never'],
    [{}, { SESSION_TTL_SECONDS: '' }, day],
    [{ ttlMs: 7 }, { SESSION_TTL_SECONDS: '2' }, 7],
    [{ ttlMs: 'never' }, { SESSION_TTL_SECONDS: '2' }, 'never'],
  ] as const)('O50: the option comes first, then the variable: %o %o', async (options, environment, ttl) => {
    const { orchestration } = bench({ ...options, environment })
    expect(await orchestration.getOrCreateState(id)).toMatchObject({ ttl })
  })

  it('O50: the variable of the process is read once, at creation', async () => {
    vi.stubEnv('SESSION_TTL_SECONDS', '3')
    const orchestration = createOrchestration({ store: memoryStateStore() })
    vi.stubEnv('SESSION_TTL_SECONDS', '9')
    expect(await orchestration.getOrCreateState(id)).toMatchObject({ ttl: 3_000 })
    vi.unstubAllEnvs()
  })

  it.each([0, -5, 0.5, Number.NaN, Infinity, '5', null])('O51: a ttlMs of %o is refused by its name', (ttlMs) => {
    expect(() => bench({ ttlMs } as unknown as OrchestrationOptions)).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('ttlMs') as unknown }),
    )
  })

  it.each(['0', '-5', 'soon', '1e3', '0.0001', 'Never'])('O51: a SESSION_TTL_SECONDS of %o is refused by its name', (text) => {
    const environment = { SESSION_TTL_SECONDS: text }
    expect(() => bench({ environment })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('SESSION_TTL_SECONDS') as unknown }),
    )
    expect(() => bench({ environment, ttlMs: 5 })).not.toThrow()
  })

  it('O52: never means no expiry, and a finite lifetime applies once it is configured', async () => {
    const { orchestration, clock, another } = bench({ ttlMs: 'never' })
    await orchestration.getOrCreateState(id)
    await clock.advance(10 * 365 * day)
    expect(await orchestration.getState(id)).toMatchObject({ ttl: 'never' })
    expect(await orchestration.cleanupExpiredStates()).toBe(0)
    await another({ ttlMs: 500 }).touch(id)
    await clock.advance(500)
    expect(await orchestration.getState(id)).toBeNull()
  })

  it('O53: the lifetime of the manager applies to older records from their next change on', async () => {
    const { orchestration, clock, another } = bench({ ttlMs: 500 })
    await orchestration.getOrCreateState(id)
    const longer = another({ ttlMs: 2_000 })
    expect(await longer.getState(id)).toMatchObject({ ttl: 500 })
    expect(await longer.addUsedTool(id, 'a')).toMatchObject({ ttl: 2_000 })
    await clock.advance(1_999)
    expect(await orchestration.getState(id)).toMatchObject({ ttl: 2_000 })
  })
})

describe('the cleanup', () => {
  it('O54: removes expired states and nothing else, batch by batch, and returns their number', async () => {
    const { store, clock } = bench()
    const watched = watchedStore(store)
    const { orchestration } = bench({ store: watched, ttlMs: 500 }, clock)
    for (let n = 0; n < 250; n++) await orchestration.getOrCreateState(`room:${n}`)
    await clock.advance(500)
    await orchestration.getOrCreateState('room:0')
    await orchestration.getOrCreateState('alive')
    expect(await orchestration.cleanupExpiredStates()).toBe(249)
    expect(watched.calls.filter((call) => call === 'sweep')).toHaveLength(3)
    expect((await orchestration.listStates()).items.map(({ sessionId }) => sessionId)).toEqual(['alive', 'room:0'])
    expect(await orchestration.cleanupExpiredStates()).toBe(0)
  })

  it('O55: runs by itself only if enabled, again and again, until it is stopped or closed', async () => {
    for (const end of ['stopCleanupTimer', 'close'] as const) {
      expect(bench().clock.pendingTimers).toBe(0)
      const { orchestration, clock, store } = bench({ ttlMs: 500, cleanup: { enabled: true, intervalMs: 1_000 } })
      for (const round of [1, 2]) {
        await orchestration.getOrCreateState(id)
        await clock.advance(1_000)
        expect([round, await store.get('orchestration-state', id)]).toEqual([round, { status: 'missing' }])
      }
      expect(clock.pendingTimers).toBe(1)
      await orchestration[end]()
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('O55: never overlaps itself, goes on after a reported failure, and can be stopped in the middle', async () => {
    const { store, clock } = bench()
    const sweeps: PromiseWithResolvers<void>[] = []
    const slow = watchedStore(store, async (call, when) => {
      if (call !== 'sweep' || when !== 'before') return
      const held = Promise.withResolvers<void>()
      sweeps.push(held)
      await held.promise
    })
    const { orchestration, diagnostics } = bench({ store: slow, cleanup: { enabled: true, intervalMs: 1_000 } }, clock)
    await clock.advance(10_000)
    expect([sweeps.length, clock.pendingTimers]).toEqual([1, 0])
    sweeps[0]?.reject(new Error('secret'))
    await clock.advance(1_000)
    await clock.advance(0)
    expect(sweeps).toHaveLength(2)
    expect(diagnostics).toEqual([{ code: 'cleanup-failed', message: 'The cleanup failed: Error.' }])
    orchestration.stopCleanupTimer()
    sweeps[1]?.resolve()
    await clock.advance(5_000)
    expect([sweeps.length, clock.pendingTimers]).toEqual([2, 0])
  })

  it('O55: does not keep the process alive', () => {
    const script = `
      import { createOrchestration, memoryStateStore } from '@bowline/sessions'
      createOrchestration({ store: memoryStateStore(), cleanup: { enabled: true, intervalMs: 3600000 } })
      console.log('made')`
    const folder = join(import.meta.dirname, '../..')
    const run = spawnSync(process.execPath, [...bundledFlags(), '--input-type=module', '--eval', script], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 30_000,
    })
    expect([run.stdout, run.status, run.signal]).toEqual(['made\n', 0, null])
  })

  it('O56: keeps no more than maxSessions; the least recently used go first', async () => {
    const { orchestration, clock } = bench({ cleanup: { maxSessions: 2 } })
    for (const name of ['a', 'b', 'c', 'd']) {
      await orchestration.getOrCreateState(name)
      await clock.advance(1)
    }
    await orchestration.touch('a')
    await clock.advance(1)
    await orchestration.addUsedTool('c', 'search')
    expect(await orchestration.cleanupExpiredStates()).toBe(0)
    expect((await orchestration.listStates()).items.map(({ sessionId }) => sessionId)).toEqual(['a', 'c'])
  })

  it('O56: keeps a state that was changed after the cleanup has read it', async () => {
    const { store, clock, orchestration } = bench()
    const slow = watchedStore(store, async (call, when) => {
      if (call === 'list' && when === 'after') await orchestration.addUsedTool('a', 'search')
    })
    const { orchestration: cleaner } = bench({ store: slow, cleanup: { maxSessions: 1 } }, clock)
    for (const name of ['a', 'b', 'c']) {
      await cleaner.getOrCreateState(name)
      await clock.advance(1)
    }
    await cleaner.cleanupExpiredStates()
    expect((await orchestration.listStates()).items.map(({ sessionId }) => sessionId)).toEqual(['a', 'c'])
  })

  it.each([{ intervalMs: 0 }, { intervalMs: -1 }, { maxSessions: 0 }, { maxSessions: 1.5 }])('O51: %o is refused', (cleanup) => {
    expect(() => bench({ cleanup })).toThrow(expect.objectContaining({ code: 'invalid-config' }))
  })
})
