import type { SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { temporaryFolders } from './temporary-folder.ts'

/** A store, and a function that opens another one on the same data once it is closed. */
export type Place = readonly [store: SessionStore, later: () => SessionStore]

export const namesOfPlaces = ['memory', 'file', 'sqlite'] as const

/** Creates places for stores, which are removed after each test. */
export function placesOfStores(): (name: (typeof namesOfPlaces)[number]) => Place {
  const temporaryFolder = temporaryFolders()
  return (name) => {
    if (name === 'memory') {
      const store = memoryStore()
      return [store, () => store.second()]
    }
    const folder = temporaryFolder()
    const made = (): SessionStore => (name === 'file' ? fileStore({ dir: folder }) : sqliteStore({ file: join(folder, 'data.db') }))
    return [made(), made]
  }
}
