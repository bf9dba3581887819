import { SessionError } from '../../errors.ts'
import type * as pg from 'pg'

/** Loads the package `pg`, which only this store needs. */
export async function loadPg(): Promise<Pick<typeof pg, 'Pool'>> {
  try {
    // Where the package is bundled there is nothing but its default export.
    return (await import('pg')).default
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SessionError('invalid-config', 'postgresStore needs the package pg: npm install pg', { cause: error })
  }
}
