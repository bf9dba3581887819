import { join } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { withTemporaryFolder } from './temporary-folder.ts'

/** Creates a store on disk and passes it with its file. Both are deleted after the work. */
export async function withSqlite<T>(work: (store: SessionStore, file: string) => Promise<T>): Promise<T> {
  return withTemporaryFolder((folder) => {
    const file = join(folder, 'bench.sqlite')
    return work(sqliteStore({ file }), file)
  })
}

/** Returns the store and a counter of its commits. */
export function countedCommits(store: SessionStore): { readonly store: SessionStore; readonly count: () => number } {
  let commits = 0
  const commit: SessionStore['commit'] = (batch) => {
    commits += 1
    return store.commit(batch)
  }
  return { store: { ...store, commit }, count: () => commits }
}
