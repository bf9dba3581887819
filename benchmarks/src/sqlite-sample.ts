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

/** The store, with what each of its commits took, in milliseconds. It does its work before it gives a promise. */
export function timedCommits(store: SessionStore): { readonly store: SessionStore; readonly commitMs: number[] } {
  const commitMs: number[] = []
  const commit: SessionStore['commit'] = (batch) => {
    const startedAt = performance.now()
    const result = store.commit(batch)
    commitMs.push(performance.now() - startedAt)
    return result
  }
  return { store: { ...store, commit }, commitMs }
}
