import type { StudioInfo } from '../../info.ts'
import type { KillRequest } from '../header/kill-button.tsx'

/** Reads the features of the host in addition to the API, and the process that executes the run of this session. */
export async function loadInfo(sessionId: string, abortSignal: AbortSignal): Promise<StudioInfo> {
  // The run of a subagent is executed with its parent session.
  const [root = sessionId] = sessionId.split('~')
  const response = await fetch(`/studio/info?session=${root}`, { signal: abortSignal })
  if (!response.ok) throw new Error(`/studio/info: ${response.status}`)
  return (await response.json()) as StudioInfo
}

/**
 * Kills a server. If there are several, it is the one that executes the run of this session at that time. `at: null` cancels a
 * scheduled kill of the session. Never rejects: the server may die before it answers.
 */
export async function killServer(request: KillRequest | { readonly at: null }, sessionId: string): Promise<void> {
  await fetch('/studio/kill', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, sessionId }),
  }).catch(() => undefined)
}
