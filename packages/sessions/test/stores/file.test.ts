import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileStore } from '../../src/file.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { testWholeStore } from './whole-store.ts'

const newFolder = temporaryFolders()
const folders = new WeakMap<SessionStore, string>()

function storeAt(dir: string): SessionStore {
  const store = fileStore({ dir })
  folders.set(store, dir)
  return store
}

function folderOf(store: SessionStore): string {
  return folders.get(store) ?? ''
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}

testWholeStore({
  name: 'file',
  create: async () => storeAt(join(newFolder(), 'deep', 'sessions')),
  reopen: async (store) => storeAt(folderOf(store)),
  async bytesWritten(store, work) {
    const before = sizeOf(folderOf(store))
    await work()
    return sizeOf(folderOf(store)) - before
  },
  loss: 'owner',
})
