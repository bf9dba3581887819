import { readsOf } from '../memory/reads.ts'
import type { Reads } from '../memory/reads.ts'
import type { SessionFolder } from './session-folder.ts'

/** What memory answers, unless the file that it came from is damaged. */
export function checkedReads(folder: () => SessionFolder, now: () => number): Reads {
  const reads = readsOf(() => folder().space, now)

  function checked<A extends readonly [string, ...unknown[]], R>(
    what: 'checkSession' | 'checkRun' | 'checkDefinition',
    read: (...given: A) => Promise<R>,
  ): (...given: A) => Promise<R> {
    return async (...given) => {
      folder()[what](given[0])
      return read(...given)
    }
  }
  return {
    readSession: checked('checkSession', reads.readSession),
    readPath: checked('checkSession', reads.readPath),
    readEvents: checked('checkSession', reads.readEvents),
    readRun: checked('checkRun', reads.readRun),
    readCalls: checked('checkRun', reads.readCalls),
    readCall: checked('checkSession', reads.readCall),
    readApproval: reads.readApproval,
    readInbox: checked('checkSession', reads.readInbox),
    readDefinition: checked('checkDefinition', reads.readDefinition),
    listSessions: reads.listSessions,
    listRuns: checked('checkSession', reads.listRuns),
    async listChildren(query) {
      if ('runId' in query.parent) folder().checkRun(query.parent.runId)
      else folder().checkSession(query.parent.session)
      return reads.listChildren(query)
    },
    listBranches: checked('checkSession', reads.listBranches),
    async due(limit) {
      folder().deliver()
      return reads.due(limit)
    },
  }
}
