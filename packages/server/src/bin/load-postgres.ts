import type * as postgres from '@bowline/postgres'
import { ConfigError } from '../config/config-error.ts'

/** Loads the package of the Postgres store, an optional peer. */
export async function loadPostgres(): Promise<typeof postgres> {
  try {
    return await import('@bowline/postgres')
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError([{ path: 'store', message: 'needs the package @bowline/postgres; run: npm install @bowline/postgres pg' }])
  }
}
