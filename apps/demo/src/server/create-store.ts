import { join } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import type { StoreChoice } from './store-choice.ts'

/** Creates the store; the runtime opens it. Code for Postgres is loaded only if it is used. */
export async function createStore(choice: StoreChoice, dataFolder: string): Promise<SessionStore> {
  switch (choice.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return sqliteStore({ file: choice.file ?? join(dataFolder, 'data.db') })
    case 'postgres': {
      const { postgresStore } = await import('@bowline/postgres')
      return postgresStore({ connectionString: choice.connectionString })
    }
    default:
      return choice satisfies never
  }
}
