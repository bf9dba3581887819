import type { SessionStore } from './session-store.ts'
import type { RunParent, RunRecord } from './records.ts'
import { keysAbove } from './child-keys.ts'

/** Returns how the subagent of this run was started. Returns undefined for a run of a root session. */
export function originOf({ parent, origin }: Pick<RunRecord, 'parent' | 'origin'>): RunParent | undefined {
  return parent ?? origin
}

/** Returns what a new run of this session gets as its `origin`: that of the run, or of the newest run if this one is gone. */
export async function originIn(store: SessionStore, key: string, runId: string): Promise<{ readonly origin?: RunParent }> {
  if (keysAbove(key).length === 0) return {}
  const read = await store.readRun(runId)
  const run = read.status === 'found' ? read.value : (await store.listRuns(key, { newestFirst: true, limit: 1 })).items[0]
  const origin = run && originOf(run)
  return origin ? { origin } : {}
}
