import { join } from 'node:path'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { rounds } from '../../../../scripts/test-length.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { explore } from './explore.ts'

const folder = temporaryFolders()

explore('the SQLite store', {
  programs: rounds({ short: 50, long: 10_000 }),
  firstSeed: 60_001,
  store: () => sqliteStore({ file: join(folder(), 'sessions.db'), synchronous: 'normal' }),
  reopen: async (store) => store,
})
