import type { WorkContext } from '../context.ts'

/** Work contexts by the key of the runtime session. A session has one prompt at a time. */
const contexts = new Map<string, WorkContext>()

/**
 * Registers the work context of a run of this process. Needed because tools of a run execute in the runtime's async context, not in
 * the caller's. Returns a function that removes the registration.
 */
export function noteRun(sessionKey: string, context: WorkContext): () => void {
  contexts.set(sessionKey, context)
  return () => {
    if (contexts.get(sessionKey) === context) contexts.delete(sessionKey)
  }
}

/** Returns the work context of a runtime session. Keys of subagent sessions begin with the key of their root session. */
export function contextOfRun(sessionKey: string): WorkContext | undefined {
  return contexts.get(sessionKey.split('~', 1)[0] ?? sessionKey)
}
