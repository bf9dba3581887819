import { readsOf } from '../memory/reads.ts'
import type { Reads } from '../memory/reads.ts'
import type { SessionFolder } from './session-folder.ts'
import type { WriteQueue } from './write-queue.ts'

interface OpenFolder {
  readonly folder: SessionFolder
  readonly queue: WriteQueue
}

/** Reads from memory. Throws if the file of the data is damaged, and waits until the data is on the disk. */
export function checkedReads(open: () => OpenFolder, now: () => number): Reads {
  const reads = readsOf(() => open().folder.space, now)

  function checked<A extends readonly unknown[], R>(
    read: (...given: A) => Promise<R>,
    check?: (folder: SessionFolder, ...given: A) => void,
  ): (...given: A) => Promise<R> {
    return async (...given) => {
      const { settled } = open().queue
      if (settled) await settled
      check?.(open().folder, ...given)
      return read(...given)
    }
  }
  function ofSession<A extends readonly [string, ...unknown[]], R>(read: (...given: A) => Promise<R>): (...given: A) => Promise<R> {
    return checked(read, (folder, ...given) => folder.checkSession(given[0]))
  }
  function ofRun<A extends readonly [string, ...unknown[]], R>(read: (...given: A) => Promise<R>): (...given: A) => Promise<R> {
    return checked(read, (folder, ...given) => folder.checkRun(given[0]))
  }

  return {
    readSession: ofSession(reads.readSession),
    readPath: ofSession(reads.readPath),
    readEvents: ofSession(reads.readEvents),
    readRun: ofRun(reads.readRun),
    readCalls: ofRun(reads.readCalls),
    readCall: ofSession(reads.readCall),
    readApproval: checked(reads.readApproval),
    readInbox: ofSession(reads.readInbox),
    readDefinition: checked(reads.readDefinition, (folder, hash) => folder.checkDefinition(hash)),
    listSessions: checked(reads.listSessions),
    listRuns: ofSession(reads.listRuns),
    listChildren: checked(reads.listChildren, (folder, { parent }) =>
      'runId' in parent ? folder.checkRun(parent.runId) : folder.checkSession(parent.session),
    ),
    listBranches: ofSession(reads.listBranches),
    listTimers: checked(reads.listTimers, (folder, { key }) => key !== undefined && folder.checkSession(key)),
    listNotices: checked(reads.listNotices, (folder, { key }) => key !== undefined && folder.checkSession(key)),
    async due(limit, options) {
      const { folder, queue } = open()
      // Retries pending deliveries: each group of writes does.
      if (folder.isSending) await queue.run(() => undefined)
      await queue.settled
      return reads.due(limit, options)
    },
  }
}
