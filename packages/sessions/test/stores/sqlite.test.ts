import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import type { SessionStore } from '../../src/store/contract.ts'
import { testSessionStore } from '../../src/testing/store-kit.ts'
import { temporaryFolders } from './temporary-folder.ts'

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

testSessionStore({
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
  runner: { describe, it },
})
