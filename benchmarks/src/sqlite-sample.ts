import { join } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { withTemporaryFolder } from './temporary-folder.ts'

/** A store on a disk, and its file; gone when the work is done. */
export async function withSqlite<T>(work: (store: SessionStore, file: string) => Promise<T>): Promise<T> {
  return withTemporaryFolder((folder) => {
    const file = join(folder, 'bench.sqlite')
    return work(sqliteStore({ file }), file)
  })
}

/** The store, and how many commits it was given. */
export function countedCommits(store: SessionStore): { readonly store: SessionStore; readonly count: () => number } {
  let commits = 0
  const commit: SessionStore['commit'] = (batch) => {
    commits += 1
    return store.commit(batch)
  }
  return { store: { ...store, commit }, count: () => commits }
}
