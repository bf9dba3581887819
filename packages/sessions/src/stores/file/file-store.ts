import { accessSync, constants, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { configChecks } from '../../arguments.ts'
import { SessionError } from '../../errors.ts'
import { checkNamespace } from '../../keys.ts'
import { checkedSessionStore, forwardedState } from '../../contract/checked-calls.ts'
import type { SessionStore, StoreHint, StoreOpenOptions } from '../../contract/session-store.ts'
import { checkedCopy, copyJson } from '../../json.ts'
import { claimRuns } from '../memory/claim.ts'
import { commitBatch } from '../memory/commit.ts'
import { claimNotices, resendNotice, settleNotice } from '../memory/notices.ts'
import { forgetDefinitions, pruneSpace } from '../memory/prune.ts'
import { renewLeases } from '../memory/renew.ts'
import { takeOwnerLock } from '../owner-lock.ts'
import { hintsOf } from '../../core/rules.ts'
import { checkedReads } from './checked-reads.ts'
import { withFile, withFileAsync } from './file-errors.ts'
import { SessionFolder } from './session-folder.ts'
import { StateLog, scanStates } from './state-log.ts'
import { makeFolder } from './whole-file.ts'
import { WriteQueue } from './write-queue.ts'

/** Directory and durability of a file store. */
export interface FileStoreOptions {
  /** Created if missing. Each session has a file in `<dir>/<namespace>`. */
  readonly dir: string
  /** If true (default), a commit survives a power failure. If false, it survives only the death of the process. */
  readonly fsync?: boolean
}

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

const maxRecordBytes = 16 * 1024 * 1024

/**
 * Creates a store with one readable file of JSON lines per session. All sessions are loaded into memory. One process at a
 * time: a second `open` rejects with `store-locked`. A commit resolves after fsync unless `fsync` is false. Throws
 * `invalid-config`.
 */
export function fileStore(options: FileStoreOptions): SessionStore {
  checkOptions(options)
  const { dir, fsync = true } = options
  const listeners = new Set<(hint: StoreHint) => void>()
  let opened: OpenDirectory | undefined

  function open(): OpenDirectory {
    if (!opened)
      throw new SessionError(
        'store-unavailable',
        'The directory of this store is not open. First start the runtime that uses it, or call open().',
      )
    return opened
  }
  const now = (): number => open().now()
  const write = <T>(work: (directory: OpenDirectory) => T): Promise<T> => {
    const directory = open()
    return directory.queue.run(() => work(directory))
  }

  return checkedSessionStore({
    ...checkedReads(open, now),
    name: 'file',
    capabilities: { durable: fsync ? 'power' : 'process', processes: 'one', maxRecordBytes },

    async open(options) {
      if (opened)
        throw new SessionError(
          'store-locked',
          `The directory ${dir} is already open in this store. Create another store for another runtime`,
        )
      opened = await openDirectory(dir, fsync, options)
    },
    async close() {
      const closed = opened
      // Runs the writes that were requested before the close.
      await closed?.queue.end()
      if (opened !== closed) return
      closed?.release()
      opened = undefined
    },
    async commit(given) {
      const batch = checkedCopy(given, 'batch')
      const { folder } = open()
      const { noticesPut } = folder.space
      const result = await write(() => {
        folder.checkSession(batch.key)
        return commitBatch(folder.space, batch, now())
      })
      if (!result.ok) return result
      if (!folder.space.sessions.has(batch.key)) folder.tidy([batch.key])
      for (const hint of hintsOf(batch)) for (const listener of listeners) listener(hint)
      // Deliveries of the commit may have added notices.
      return folder.space.noticesPut > noticesPut ? { ...result, notices: true } : result
    },
    async claim(request) {
      return write(({ folder }) => {
        if (request.runId !== undefined) folder.checkRun(request.runId)
        for (const key of request.keys ?? []) folder.checkSession(key)
        return copyJson(claimRuns(folder.space, request, now()))
      })
    },
    async renew(leases, leaseMs) {
      // Does not wait for the disk: a slow disk must not end a lease, which is kept in memory only.
      return renewLeases(open().folder.space, leases, now() + leaseMs)
    },
    async claimNotices(request) {
      return write(({ folder }) => copyJson(claimNotices(folder.space, request, now())))
    },
    async settleNotice(notice, outcome) {
      return write(({ folder }) => {
        folder.checkSession(notice.session)
        return settleNotice(folder.space, notice, outcome, now())
      })
    },
    async resendNotice(key, id) {
      return write(({ folder }) => {
        folder.checkSession(key)
        return copyJson(resendNotice(folder.space, key, id, now()))
      })
    },
    async prune(rules, limit) {
      const { folder, states } = open()
      const report = await write(() => pruneSpace(folder.space, rules, now(), limit))
      forgetDefinitions(folder.space)
      folder.tidy()
      states.tidy()
      return report
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    state: forwardedState(() => open().states.store),
  })
}

interface OpenDirectory {
  readonly folder: SessionFolder
  readonly states: StateLog
  readonly now: () => number
  /** Queue of all writes to sessions. */
  readonly queue: WriteQueue
  release(): void
}

async function openDirectory(name: string, fsync: boolean, { namespace, clock }: StoreOpenOptions): Promise<OpenDirectory> {
  checkNamespace(namespace)
  const directory = writableFolder(join(name, namespace), fsync)
  const now = (): number => clock.now()
  const lock = takeOwnerLock({ file: join(directory, 'lock'), what: `The directory ${directory}` })
  try {
    const options = { fsync, maxRecordBytes, now }
    const folder = new SessionFolder({ folder: directory, ...options })
    const states = await withFileAsync(directory, async () => {
      const scanned = scanStates(directory)
      await folder.load()
      return new StateLog(scanned, options)
    })
    return { folder, states, now, queue: new WriteQueue(() => folder.settle()), release: () => lock.release() }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Returns the path with links resolved, so that two names of one folder share a lock. */
function writableFolder(name: string, fsync: boolean): string {
  return withFile(name, () => {
    makeFolder(name, fsync)
    accessSync(name, constants.W_OK)
    return realpathSync(name)
  })
}
