import type { DemoInfo } from '../../info.ts'

/** What the demo's own server offers besides the API, and which process executes the run of this session. */
export async function loadInfo(sessionId: string, abortSignal: AbortSignal): Promise<DemoInfo> {
  const response = await fetch(`/demo/info?session=${sessionId}`, { signal: abortSignal })
  if (!response.ok) throw new Error(`/demo/info: ${response.status}`)
  return (await response.json()) as DemoInfo
}

/** Of several servers it kills the one that executes the run of this session by then. Never rejects: a server that dies before it has answered has done what it was asked for. */
export async function killServer(delayMs: number, sessionId: string): Promise<void> {
  await fetch('/demo/kill', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ delayMs, sessionId }),
  }).catch(() => undefined)
}
