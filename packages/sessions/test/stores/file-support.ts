import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock } from '@bowline/llm/testing'
import { fileStore } from '../../src/file.ts'
import type { Batch, Delivery, Write } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'

export interface OpenStores {
  open(dir: string, owner?: string): Promise<SessionStore>
  /** Ends all stores as the death of the process does: writes nothing more, and releases the lock. */
  closeAll(): Promise<void>
}

export function openStores(): OpenStores {
  const stores: SessionStore[] = []
  return {
    async open(dir, owner = 'owner-a') {
      const store = fileStore({ dir, fsync: false })
      await store.open({ namespace: 'default', owner, clock: manualClock(1000) })
      stores.push(store)
      return store
    },
    async closeAll() {
      for (const store of stores.splice(0)) await store.close()
    },
  }
}

export function ensure(key: string, fields: { parent?: string } = {}): Write {
  return { op: 'session.ensure', session: { id: `session of ${key}`, agent: 'assistant', metadata: {}, at: 1, ...fields } }
}

export function say(name: string): Write {
  return { op: 'event.append', events: [{ event: { type: 'session-start', at: 1, sessionKey: name } }] }
}

/** Returns a batch with one entry and one event for this number. */
export function numbered(n: number, key = 'room:1', text = 'text'): Batch {
  const id = `${key}/${n}`
  const message = { role: 'user', id, content: `${text} ${n}` } as const
  const entry = { id, parentId: n === 1 ? null : `${key}/${n - 1}`, type: 'message', at: n, message } as const
  return batch(`batch ${id}`, key, [ensure(key), { op: 'entry.append', entries: [entry] }, say(id)])
}

export function batch(id: string, key: string, writes: readonly Write[], deliver: readonly Delivery[] = []): Batch {
  return { id, key, expect: [], writes, deliver }
}

/** Returns the names of the events, in order. */
export async function said(store: SessionStore, key: string): Promise<readonly unknown[]> {
  const { events } = await store.readEvents(key, 0, 1000)
  return events.map((event) => 'sessionKey' in event && event.sessionKey)
}

/** Returns the path of the only file with this prefix. */
export function fileOf(dir: string, beginning: string): string {
  const folder = join(dir, 'default')
  const [name, ...others] = readdirSync(folder).filter((each) => each.startsWith(`${beginning}-`) && each.endsWith('.jsonl'))
  if (name === undefined || others.length > 0) throw new Error(`There is not one file that begins with ${beginning}`)
  return join(folder, name)
}

/** Returns the lines of a file, each with its line break. */
export function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split(/(?<=\n)/)
}
