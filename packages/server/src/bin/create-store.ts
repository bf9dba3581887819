import type { SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import type { StoreChoice } from '../config/store-choice.ts'

/** Opens nothing yet: the runtime does. */
export function createStore(choice: StoreChoice): SessionStore {
  switch (choice.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return sqliteStore({ file: choice.file })
    case 'file':
      return fileStore({ dir: choice.folder })
    default:
      return choice satisfies never
  }
}
