import type { WorkContext } from '../context.ts'

/** By the key of the runtime's session. One prompt at a time works in a session. */
const contexts = new Map<string, WorkContext>()

/**
 * Says whose work a run of this process is: its tools run where the runtime executes it, not where it was asked for.
 * Gives what ends it.
 */
export function noteRun(sessionKey: string, context: WorkContext): () => void {
  contexts.set(sessionKey, context)
  return () => {
    if (contexts.get(sessionKey) === context) contexts.delete(sessionKey)
  }
}

/** Also for the session of an agent below, whose key begins with that of the root. */
export function contextOfRun(sessionKey: string): WorkContext | undefined {
  return contexts.get(sessionKey.split('~', 1)[0] ?? sessionKey)
}
