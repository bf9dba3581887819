import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { setup } from '../support.ts'

describe('session.state', () => {
  it('S44: is one JSON record, and copies the given value', async () => {
    const { runtime } = setup({ steps: [] })
    const session = runtime.session('room:1')
    await session.open()
    expect(await session.state.get()).toBeNull()
    const value = { list: [1] }
    const { version } = await session.state.set(value)
    value.list.push(2)
    expect(await session.state.get()).toEqual({ value: { list: [1] }, version })
    await expect(session.state.set('late', { version: null })).rejects.toMatchObject({ code: 'conflict' })
    expect((await session.state.set('next', { version })).version).toBeGreaterThan(version)
    await runtime.stop()
  })

  it('O13: keeps all of many concurrent updates', async () => {
    const { runtime } = setup({ steps: [] })
    const session = runtime.session('room:1')
    await session.open()
    await Promise.all(Array.from({ length: 10 }, () => session.state.update((count) => Number(count ?? 0) + 1)))
    expect(await session.state.get()).toMatchObject({ value: 10 })
    await runtime.stop()
  })

  it('O48: is deleted with the session, as is the orchestration state of the session and of its children', async () => {
    const store = memoryStore()
    const { runtime } = setup({ steps: [], store })
    const session = runtime.session('room:1')
    await session.open()
    await session.state.set('mine')
    const life = { ttlMs: 'never' } as const
    for (const id of ['room:1', 'room:1#run', 'room:12']) await store.state.compareAndSet('orchestration-state', id, null, {}, life)
    await session.delete()
    const left = await store.state.list('orchestration-state', {})
    expect(left.items.map((item) => item.id)).toEqual(['room:12'])
    const again = runtime.session('room:1')
    await again.open()
    expect(await again.state.get()).toBeNull()
    await runtime.stop()
  })

  it('S161: an expired session keeps it and refuses new values', async () => {
    const { runtime } = setup({ steps: [] })
    const session = runtime.session('room:1')
    await expect(session.state.get()).rejects.toMatchObject({ code: 'session-missing' })
    await expect(session.state.set(1)).rejects.toMatchObject({ code: 'session-missing' })
    await runtime.stop()
  })
})
