import { fileStore } from '@bowline/sessions/file'
import { rounds } from '../../../../scripts/test-length.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { explore } from './explore.ts'

const folder = temporaryFolders()

explore('the file store', {
  programs: rounds({ short: 50, long: 20_000 }),
  firstSeed: 40_001,
  store: () => fileStore({ dir: folder(), fsync: false }),
  reopen: async (store) => store,
})
