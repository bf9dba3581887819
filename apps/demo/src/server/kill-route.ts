import { z } from 'zod'
import { killMoments } from './kill-points.ts'
import type { KillPoints } from './kill-points.ts'
import type { ServerGroup } from './server-group.ts'
import { isSessionId, sessionKeyOf } from './session-key.ts'

const longestDelayMs = 5000

const sessionId = z.custom<string>(isSessionId)
const killBody = z.union([
  z.strictObject({ delayMs: z.number().min(0).max(longestDelayMs), sessionId: sessionId.optional() }),
  z.strictObject({ at: z.enum(killMoments).nullable(), sessionId }),
])

const detail = `Give either delayMs (0 to ${longestDelayMs}), with the sessionId of a session or without, or at (${killMoments.join(', ')}, or null for no moment any more) with the sessionId of a session.`

export interface Killing {
  /** Processes of the group, if there are several. */
  readonly group: ServerGroup | undefined
  readonly points: KillPoints
}

/**
 * Kills a server process like a crash. With a delay, kills the process that then executes the run of the session, else this one.
 * With a point, kills the process that reaches it first within a minute; null removes the point. For experiments only: the caller
 * must mount it only outside production and on loopback.
 */
export async function killRoute(request: Request, { group, points }: Killing): Promise<Response> {
  const { data: body } = killBody.safeParse(await request.json().catch(() => undefined))
  if (!body) return Response.json({ code: 'invalid-body', detail }, { status: 400 })
  if ('at' in body) {
    const key = sessionKeyOf(body.sessionId)
    if (body.at === null) {
      await points.clear(key)
      return new Response(null, { status: 204 })
    }
    const until = await points.set(key, body.at)
    return Response.json({ at: body.at, until }, { status: 202 })
  }
  const { delayMs } = body
  const pid = await pidToKill(group, body.sessionId)
  const kill = async (): Promise<boolean> => process.kill(await pidToKill(group, body.sessionId), 'SIGKILL')
  setTimeout(() => void kill().catch((error: unknown) => console.error('No server was killed.', error)), delayMs).unref()
  return Response.json({ pid, delayMs }, { status: 202 })
}

async function pidToKill(group: ServerGroup | undefined, id: string | undefined): Promise<number> {
  const servers = (await group?.describe(id)) ?? []
  return servers.find(({ isOwner }) => isOwner)?.pid ?? process.pid
}
