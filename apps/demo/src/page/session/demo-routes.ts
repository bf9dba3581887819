import type { DemoInfo } from '../../info.ts'

/** What the demo's own server offers besides the API. */
export async function loadInfo(abortSignal: AbortSignal): Promise<DemoInfo> {
  const response = await fetch('/demo/info', { signal: abortSignal })
  if (!response.ok) throw new Error(`/demo/info: ${response.status}`)
  return (await response.json()) as DemoInfo
}

/** Never rejects: a server that dies before it has answered has done what it was asked for. */
export async function killServer(delayMs: number): Promise<void> {
  await fetch('/demo/kill', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ delayMs }),
  }).catch(() => undefined)
}
