import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../src/sqlite.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { testWholeStore } from './whole-store.ts'

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

testWholeStore({
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
  loss: 'owner',
})
