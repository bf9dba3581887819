import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

/** A store on a disk, and its file; gone when the work is done. */
export async function withSqlite<T>(work: (store: SessionStore, file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-bench-'))
  const file = join(folder, 'bench.sqlite')
  try {
    return await work(sqliteStore({ file }), file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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
