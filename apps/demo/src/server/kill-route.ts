import type { ServerGroup } from './server-group.ts'
import { isSessionId } from './session-key.ts'

const longestDelayMs = 5000

interface KillBody {
  readonly delayMs: number
  readonly sessionId?: string
}

/**
 * Ends a server process as a crash would: of several the one that executes the run of the session by then, else this one.
 * Only where people try things out: the caller mounts it outside of production and for loopback only.
 */
export async function killRoute(request: Request, group: ServerGroup | undefined): Promise<Response> {
  const body: unknown = await request.json().catch(() => undefined)
  if (!isKillBody(body)) {
    const detail = `delayMs must be 0 to ${longestDelayMs}, and sessionId the id of a session or absent.`
    return Response.json({ code: 'invalid-body', detail }, { status: 400 })
  }
  const { delayMs, sessionId } = body
  const pid = await pidToKill(group, sessionId)
  const kill = async (): Promise<boolean> => process.kill(await pidToKill(group, sessionId), 'SIGKILL')
  setTimeout(() => void kill().catch((error: unknown) => console.error('No server was killed.', error)), delayMs).unref()
  return Response.json({ pid, delayMs }, { status: 202 })
}

async function pidToKill(group: ServerGroup | undefined, sessionId: string | undefined): Promise<number> {
  const servers = (await group?.describe(sessionId)) ?? []
  return servers.find(({ isOwner }) => isOwner)?.pid ?? process.pid
}

function isKillBody(body: unknown): body is KillBody {
  if (typeof body !== 'object' || body === null) return false
  const { delayMs, sessionId } = body as Partial<Record<keyof KillBody, unknown>>
  return typeof delayMs === 'number' && delayMs >= 0 && delayMs <= longestDelayMs && (sessionId === undefined || isSessionId(sessionId))
}
