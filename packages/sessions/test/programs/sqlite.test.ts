import { join } from 'node:path'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { explore } from './explore.ts'

const folder = temporaryFolders()

explore('the SQLite store', { store: () => sqliteStore({ file: join(folder(), 'sessions.db'), synchronous: 'normal' }), reopen: async (store) => store })
