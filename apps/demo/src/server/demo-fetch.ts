import type { Peer, Server } from '@bowline/server'
import type { DemoInfo } from '../info.ts'
import { killRoute } from './kill-route.ts'
import { createPageFiles } from './page-files.ts'
import { cookieHeader, holdsToken } from './page-token.ts'

export interface DemoFetchOptions {
  readonly port: number
  readonly token: string
  readonly info: DemoInfo
  /** Where the built page is. */
  readonly pageFolder: string
  /** The API. Everything that is not the demo's own goes there. */
  readonly api: Pick<Server, 'fetch'>
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']
const loopbackAddresses = ['127.0.0.1', '::1', '::ffff:127.0.0.1']

function originsOf(port: number): readonly string[] {
  return loopbackNames.map((name) => `http://${name}:${port}`)
}

/** The page, its token, and the API behind them. Only the page itself, on this machine, gets anything. */
export function createDemoFetch({ port, token, info, pageFolder, api }: DemoFetchOptions): Server['fetch'] {
  const origins = originsOf(port)
  const pageFile = createPageFiles(pageFolder)
  return async (request, peer) => {
    const { origin, pathname } = new URL(request.url)
    if (pathname.startsWith('/api/') || pathname === '/healthz' || pathname === '/readyz') return api.fetch(request, peer)
    if (!origins.includes(origin)) return refuse(403, 'host-not-allowed')
    if (!origins.includes(request.headers.get('origin') ?? origin)) return refuse(403, 'origin-not-allowed')
    if (pathname.startsWith('/demo/')) {
      if (!holdsToken(request, port, token)) return refuse(401, 'unauthenticated')
      return demoRoute(request, pathname, info, peer)
    }
    const file = await pageFile(request)
    if (pathname === '/') file.headers.append('set-cookie', cookieHeader(port, token))
    return file
  }
}

async function demoRoute(request: Request, pathname: string, info: DemoInfo, peer: Peer | undefined): Promise<Response> {
  if (request.method === 'GET' && pathname === '/demo/info') {
    return Response.json(info, { headers: { 'cache-control': 'no-store' } })
  }
  const mayKill = info.canKill && loopbackAddresses.includes(peer?.remoteAddress ?? '')
  if (request.method === 'POST' && pathname === '/demo/kill' && mayKill) return killRoute(request)
  return refuse(404, 'route-not-found')
}

function refuse(status: number, code: string): Response {
  return Response.json({ code }, { status })
}
