import type { SessionStore } from '@bowline/sessions'
import type { ServerInfo } from '@bowline/studio/info'
import type { ServerProcess } from './process-messages.ts'
import { sessionKeyOf } from './session-key.ts'

export interface ServerGroup {
  /** Returns all processes, and which of them executes a run of this session now. */
  describe(sessionId?: string): Promise<readonly ServerInfo[]>
}

/** The server processes of a demo that has several. `processes` gives what the supervisor told last. */
export function createServerGroup(store: Pick<SessionStore, 'listRuns'>, processes: () => readonly ServerProcess[]): ServerGroup {
  return {
    async describe(sessionId) {
      const owner = sessionId === undefined ? undefined : await readOwner(store, sessionId)
      return processes().map(({ name, up }) => ({ name, ...(up && { pid: up.pid, runtimeId: up.runtimeId }), isOwner: up !== undefined && up.runtimeId === owner }))
    },
  }
}

/** Returns the id of the runtime that executes the session's run, or did so when it died. */
async function readOwner(store: Pick<SessionStore, 'listRuns'>, sessionId: string): Promise<string | undefined> {
  const { items } = await store.listRuns(sessionKeyOf(sessionId), { status: ['running'], limit: 1 })
  return items[0]?.owner
}
