import { accessSync, constants, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { StateStore } from '../../contract/state-store.ts'
import type { StoreOpenOptions } from '../../contract/session-store.ts'
import { SessionError } from '../../errors.ts'
import { checkNamespace } from '../../keys.ts'
import type { Change, Read, RowStore } from '../../rows/contract.ts'
import { applyTo, readFrom } from '../../rows/memory-rows.ts'
import { takeOwnerLock } from '../owner-lock.ts'
import { withFile, withFileAsync } from './file-errors.ts'
import { SessionFiles } from './session-files.ts'
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

/** Rows in memory, and files with all of their changes. */
export interface FileRows extends RowStore {
  /** Throws `store-unavailable` if the store is not open. */
  readonly state: StateStore
  /** Rewrites files with mostly obsolete lines. */
  tidy(): Promise<void>
}

const maxRowBytes = 16 * 1024 * 1024

export function fileRows({ dir, fsync = true }: FileStoreOptions): FileRows {
  let opened: OpenDirectory | undefined
  const open = (): OpenDirectory => {
    if (opened) return opened
    throw new SessionError(
      'store-unavailable',
      'The directory of this store is not open. First start the runtime that uses it, or call open().',
    )
  }
  return {
    name: 'file',
    capabilities: { durable: fsync ? 'power' : 'process', processes: 'one', maxRowBytes },
    get state() {
      return open().states.store
    },
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
      await closed?.queue.run(() => closed.files.want('checkpoint'))
      await closed?.queue.end()
      if (opened !== closed) return
      closed?.release()
      opened = undefined
    },
    async read(reads) {
      const { queue, files, now } = open()
      if (queue.settled && !reads.every(isOfLeases)) await queue.settled
      files.check(reads)
      return { now: now(), rows: reads.map((read) => readFrom(files.space, read)) }
    },
    async write(changes) {
      const { queue, files } = open()
      // Does not wait for the disk: leases end with the process, and a slow disk must not end one.
      if (changes.every(isRenewal)) return changes.map((change) => applyTo(files.space, change) !== undefined)
      const stored = await queue.run(() => files.apply(changes))
      for (const [place, { hints = [] }] of changes.entries()) {
        if (stored[place]) for (const hint of hints) for (const listener of files.space.listeners) listener(hint)
      }
      return stored
    },
    subscribe(listener) {
      const { listeners } = open().files.space
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async tidy() {
      const { queue, files, states } = open()
      await queue.run(() => files.want('tidy'))
      states.tidy()
    },
  }
}

function isOfLeases(read: Read): boolean {
  return 'get' in read && read.get === 'lease'
}

function isRenewal({ writes }: Change): boolean {
  return writes.length > 0 && writes.every((write) => 'update' in write && write.update === 'lease')
}

interface OpenDirectory {
  readonly files: SessionFiles
  readonly states: StateLog
  readonly now: () => number
  /** Queue of all writes to sessions. */
  readonly queue: WriteQueue
  release(): void
}

async function openDirectory(name: string, fsync: boolean, { namespace, clock }: StoreOpenOptions): Promise<OpenDirectory> {
  checkNamespace(namespace)
  const folder = writableFolder(join(name, namespace), fsync)
  const now = (): number => clock.now()
  const lock = takeOwnerLock({ file: join(folder, 'lock'), what: `The directory ${folder}` })
  try {
    const files = new SessionFiles({ folder, fsync, maxRowBytes })
    const states = await withFileAsync(folder, async () => {
      const scanned = scanStates(folder)
      await files.load()
      return new StateLog(scanned, { fsync, maxRecordBytes: maxRowBytes, now })
    })
    return { files, states, now, queue: new WriteQueue(() => files.settle()), release: () => lock.release() }
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
