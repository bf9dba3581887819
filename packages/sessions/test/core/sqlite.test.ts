import { join } from 'node:path'
import { systemClock } from '@bowline/llm'
import { describe } from 'vitest'
import { coreStore } from '../../src/core/core-store.ts'
import { sqliteRows } from '../../src/stores/sqlite/sqlite-rows.ts'
import { memoryStateStore } from '../../src/state/memory-state-store.ts'
import type { SessionStore } from '../../src/index.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { aloneWithItsData, testWholeKit } from '../stores/whole-kit.ts'

const newFolder = temporaryFolders()

describe('S177: the kit over rows in SQLite', () => {
  const files = new WeakMap<SessionStore, string>()
  const over = (file: string): SessionStore => {
    const store = coreStore(sqliteRows({ file }), { loss: 'owner', state: memoryStateStore({ clock: systemClock }) })
    files.set(store, file)
    return store
  }
  testWholeKit({
    name: 'sqlite',
    create: async () => over(join(newFolder(), 'store.sqlite')),
    reopen: async (store) => over(files.get(store) ?? ''),
    limitsRecords: true,
    loss: 'owner',
    exceptions: aloneWithItsData,
  })
})
