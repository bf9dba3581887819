import { fileStore } from '@bowline/sessions/file'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { explore } from './explore.ts'

const folder = temporaryFolders()

explore('the file store', { store: () => fileStore({ dir: folder(), fsync: false }), reopen: async (store) => store })
