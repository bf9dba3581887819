import { configChecks } from '../../arguments.ts'
import { forwardedState } from '../../contract/checked-calls.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import { coreStore } from '../../core/core-store.ts'
import { fileRows, type FileStoreOptions } from './file-rows.ts'

const checkEach = configChecks.record<FileStoreOptions>({
  dir: (path, value) => configChecks.checkRequired(path, value, 'the name of a directory', isName),
  fsync: configChecks.checkBoolean,
})

const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''

function checkOptions(options: FileStoreOptions): void {
  configChecks.checkRequired(
    'fileStore.options',
    options,
    'an object, { dir }',
    (given) => given !== undefined && typeof given !== 'string',
  )
  checkEach('fileStore.options', options)
}

/**
 * Creates a store with one readable file of JSON lines per session. All sessions are loaded into memory. One process at a
 * time: a second `open` rejects with `store-locked`. A commit resolves after fsync unless `fsync` is false. Throws
 * `invalid-config`.
 */
export function fileStore(options: FileStoreOptions): SessionStore {
  checkOptions(options)
  const rows = fileRows(options)
  const store = coreStore(rows, { loss: 'owner', state: forwardedState(() => rows.state) })
  return {
    ...store,
    async prune(rules, limit) {
      const report = await store.prune(rules, limit)
      await rows.tidy()
      return report
    },
  }
}
