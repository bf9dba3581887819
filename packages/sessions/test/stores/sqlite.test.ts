import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { aloneWithItsData, testWholeKit } from './whole-kit.ts'

const newFolder = temporaryFolders()
const files = new WeakMap<SessionStore, string>()

function storeAt(file: string): SessionStore {
  const store = sqliteStore({ file })
  files.set(store, file)
  return store
}

function fileOf(store: SessionStore): string {
  return files.get(store) ?? ''
}

describe('S177: the kit over the sqlite store', () => {
  testWholeKit({
    name: 'sqlite',
    create: async () => storeAt(join(newFolder(), 'deep', 'sessions.db')),
    reopen: async (store) => storeAt(fileOf(store)),
    async bytesWritten(store, work) {
      const outside = new DatabaseSync(fileOf(store))
      outside.exec('pragma wal_checkpoint(truncate)')
      outside.close()
      await work()
      return statSync(`${fileOf(store)}-wal`).size
    },
    limitsRecords: true,
    loss: 'owner',
    exceptions: aloneWithItsData,
  })
})
