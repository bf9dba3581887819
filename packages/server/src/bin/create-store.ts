import type { SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import type { StoreChoice } from '../config/store-choice.ts'

/** Opens nothing yet: the runtime does. The driver of Postgres is loaded only for it. `warn` is told what an operator should know. */
export async function createStore(choice: StoreChoice, warn: (message: string) => void): Promise<SessionStore> {
  switch (choice.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return sqliteStore({ file: choice.file })
    case 'file':
      return fileStore({ dir: choice.folder })
    case 'postgres': {
      const { postgresStore } = await import('@bowline/sessions/postgres')
      return postgresStore({ connectionString: choice.connectionString, onWarning: warn })
    }
    default:
      return choice satisfies never
  }
}
