import type { StudioInfo } from '../../info.ts'
import type { KillRequest } from '../header/kill-button.tsx'

/** What the host of the page offers besides the API, and which process executes the run of this session. */
export async function loadInfo(sessionId: string, abortSignal: AbortSignal): Promise<StudioInfo> {
  // The run of a subagent is that of the session that it works for.
  const [root = sessionId] = sessionId.split('~')
  const response = await fetch(`/studio/info?session=${root}`, { signal: abortSignal })
  if (!response.ok) throw new Error(`/studio/info: ${response.status}`)
  return (await response.json()) as StudioInfo
}

/**
 * Kills a server. Of several servers it is the one that executes the run of this session by then. `at: null` takes back the moment
 * that was set for the session. Never rejects: a server that dies before it answers has done its part.
 */
export async function killServer(request: KillRequest | { readonly at: null }, sessionId: string): Promise<void> {
  await fetch('/studio/kill', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, sessionId }),
  }).catch(() => undefined)
}
