import type { SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import type { StoreChoice } from '../config/store-choice.ts'
import { missingFor } from '../config/config-error.ts'

/**
 * Creates the store; the runtime opens it. Loads the Postgres driver only if the store needs it. `warn` receives warnings for the
 * operator.
 */
export async function createStore(choice: StoreChoice, warn: (message: string) => void): Promise<SessionStore> {
  switch (choice.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return sqliteStore({ file: choice.file })
    case 'file':
      return fileStore({ dir: choice.folder })
    case 'postgres': {
      const { postgresStore } = await loadPostgres()
      const { connectionString, directConnectionString } = choice
      return postgresStore({ connectionString, ...(directConnectionString !== undefined && { directConnectionString }), onWarning: warn })
    }
    default:
      return choice satisfies never
  }
}

/** Loads the package of the Postgres store, an optional peer. */
export function loadPostgres() {
  return import('@bowline/postgres').catch(missingFor('store', '@bowline/postgres', '@bowline/postgres pg'))
}
