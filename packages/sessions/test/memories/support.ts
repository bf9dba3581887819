import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '@bowline/llm'
import { memoryStateStore, type Note, type SessionStore, type StateStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { afterEach } from 'vitest'

export const startMs = 1_750_000_000_000
export const alice = { tenant: 'acme', user: 'alice' }
export const bob = { tenant: 'acme', user: 'bob' }
export const kinds = ['memory', 'sqlite', 'file'] as const

/** Opens stores of this process and closes them after each test. */
export function openStores(): (kind: (typeof kinds)[number], clock?: Clock) => Promise<StateStore> {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  async function stateOf(clock: Clock, storeIn: (folder: string) => SessionStore): Promise<StateStore> {
    const folder = mkdtempSync(join(tmpdir(), 'bowline-memories-'))
    const store = storeIn(folder)
    await store.open({ namespace: 'default', owner: 'owner-a', clock })
    closing.push(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    return store.state
  }
  return async (kind, clock = systemClock) => {
    if (kind === 'memory') return memoryStateStore({ clock })
    return stateOf(clock, (folder) =>
      kind === 'sqlite' ? sqliteStore({ file: join(folder, 'data.db'), synchronous: 'normal' }) : fileStore({ dir: folder, fsync: false }),
    )
  }
}

export function keysOf(notes: readonly Note[]): readonly string[] {
  return notes.map(({ key }) => key)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
