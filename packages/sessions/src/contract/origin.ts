import type { SessionStore } from './session-store.ts'
import type { RunParent, RunRecord } from './records.ts'
import { keysAbove } from './child-keys.ts'

/** Returns the call that started the subagent of this run. Returns undefined for a run of a root session. */
export function originOf({ parent, origin }: Pick<RunRecord, 'parent' | 'origin'>): RunParent | undefined {
  return parent ?? origin
}

/** Returns the `origin` for a new run of this session: that of the given run, or of the newest run if the given one is deleted. */
export async function originIn(store: SessionStore, key: string, runId: string): Promise<{ readonly origin?: RunParent }> {
  if (keysAbove(key).length === 0) return {}
  const read = await store.readRun(runId)
  const run = read.status === 'found' ? read.value : (await store.listRuns(key, { newestFirst: true, limit: 1 })).items[0]
  const origin = run && originOf(run)
  return origin ? { origin } : {}
}
