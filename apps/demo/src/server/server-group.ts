import type { SessionStore } from '@bowline/sessions'
import type { ServerInfo } from '@bowline/studio/info'
import type { ServerProcess } from './process-messages.ts'
import { sessionKeyOf } from './session-key.ts'

export interface ServerGroup {
  /** Returns all processes and marks the one that currently executes a run of this session. */
  describe(sessionId?: string): Promise<readonly ServerInfo[]>
}

/** Server processes of a demo that has several. `processes` returns the last list from the supervisor. */
export function createServerGroup(store: Pick<SessionStore, 'listRuns'>, processes: () => readonly ServerProcess[]): ServerGroup {
  return {
    async describe(sessionId) {
      const owner = sessionId === undefined ? undefined : await readOwner(store, sessionId)
      return processes().map(({ name, up }) => ({
        name,
        ...(up && { pid: up.pid, runtimeId: up.runtimeId }),
        isOwner: up !== undefined && up.runtimeId === owner,
      }))
    },
  }
}

/** Returns the id of the runtime that executes the run of the session, or that executed it when it died. */
async function readOwner(store: Pick<SessionStore, 'listRuns'>, sessionId: string): Promise<string | undefined> {
  const { items } = await store.listRuns(sessionKeyOf(sessionId), { status: ['running'], limit: 1 })
  return items[0]?.owner
}
