import type { Server } from '@bowline/server'
import type { StudioInfo } from '@bowline/studio/info'
import type { Effects } from './effects.ts'
import type { KillPoints } from './kill-points.ts'
import { killRoute } from './kill-route.ts'
import { createPageFiles } from '@bowline/studio/page-files'
import { cookieHeader, holdsToken } from './page-token.ts'
import type { ServerGroup } from './server-group.ts'
import { isSessionId } from './session-key.ts'

export interface DemoFetchOptions {
  readonly port: number
  readonly token: string
  readonly info: Omit<StudioInfo, 'effects' | 'servers'>
  readonly effects: () => Promise<Effects>
  /** Processes of the group, if there are several. */
  readonly group?: ServerGroup
  /** Absent if the server cannot be killed. */
  readonly points?: KillPoints
  /** Folder of the built page. */
  readonly pageFolder: string
  /** API server. It gets all requests that are not for routes of the demo. */
  readonly api: Pick<Server, 'fetch'>
}

const apiPaths = ['/healthz', '/readyz', '/mcp']
const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']
const loopbackAddresses = ['127.0.0.1', '::1', '::ffff:127.0.0.1']

function originsOf(port: number): readonly string[] {
  return loopbackNames.map((name) => `http://${name}:${port}`)
}

/** Serves the page and, with its token, the API. It only answers requests of the page itself on this machine. */
export function createDemoFetch({ port, token, info, effects, group, points, pageFolder, api }: DemoFetchOptions): Server['fetch'] {
  const origins = originsOf(port)
  const pageFile = createPageFiles(pageFolder)
  return async (request, peer) => {
    const { origin, pathname, searchParams } = new URL(request.url)
    if (pathname.startsWith('/api/') || apiPaths.includes(pathname)) return api.fetch(request, peer)
    if (!origins.includes(origin)) return refuse(403, 'host-not-allowed')
    if (!origins.includes(request.headers.get('origin') ?? origin)) return refuse(403, 'origin-not-allowed')
    if (pathname.startsWith('/studio/')) {
      if (!holdsToken(request, port, token)) return refuse(401, 'unauthenticated')
      if (request.method === 'GET' && pathname === '/studio/info') return infoRoute({ info, effects }, group, searchParams.get('session'))
      const isLocal = loopbackAddresses.includes(peer?.remoteAddress ?? '')
      if (request.method === 'POST' && pathname === '/studio/kill' && points && isLocal) return killRoute(request, { group, points })
      return refuse(404, 'route-not-found')
    }
    const file = await pageFile(request)
    if (pathname === '/') file.headers.append('set-cookie', cookieHeader(port, token))
    return file
  }
}

async function infoRoute(
  { info, effects }: Pick<DemoFetchOptions, 'info' | 'effects'>,
  group: ServerGroup | undefined,
  sessionId: string | null,
): Promise<Response> {
  if (sessionId !== null && !isSessionId(sessionId)) return refuse(400, 'invalid-query')
  const servers = await group?.describe(sessionId ?? undefined)
  return Response.json({ ...info, effects: await effects(), ...(servers && { servers }) } satisfies StudioInfo, {
    headers: { 'cache-control': 'no-store' },
  })
}

function refuse(status: number, code: string): Response {
  return Response.json({ code }, { status })
}
