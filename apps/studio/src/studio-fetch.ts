import { Hono } from 'hono'
import { proxy } from 'hono/proxy'
import type { StudioInfo } from './info.ts'
import { createPageFiles } from './page-files.ts'

export interface StudioFetchOptions {
  /** Address of the Bowline server: http or https, with the path before `/api` if it has one. */
  readonly server: string
  /** Sent to the server as a bearer token. Never sent to the page. */
  readonly token: string | undefined
  /** Port of this host on loopback. */
  readonly port: number
  /** Folder of the built page. */
  readonly pageFolder: string
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Serves the page, and forwards its API requests to a remote Bowline server. It only answers requests of the page itself on this
 * machine: other pages could use the token unnoticed.
 */
export function createStudioFetch({
  server,
  token,
  port,
  pageFolder,
}: StudioFetchOptions): (request: Request) => Response | Promise<Response> {
  const hosts = loopbackNames.map((name) => `${name}:${port}`)
  const pageFile = createPageFiles(pageFolder)
  const base = server.replace(/\/+$/, '')
  const info: StudioInfo = { server: base, canKill: false }
  const app = new Hono()
  app.use(async (context, next) => {
    const host = context.req.header('host') ?? new URL(context.req.url).host
    if (!hosts.includes(host)) return context.json({ code: 'host-not-allowed' }, 403)
    const origin = context.req.header('origin') ?? `http://${host}`
    const site = context.req.header('sec-fetch-site') ?? 'none'
    if (origin !== `http://${host}` || !['same-origin', 'none'].includes(site)) return context.json({ code: 'origin-not-allowed' }, 403)
    return next()
  })
  app.get('/studio/info', (context) => context.json(info, 200, { 'cache-control': 'no-store' }))
  app.all('/studio/*', (context) => context.json({ code: 'route-not-found' }, 404))
  app.all('/api/*', async (context) => {
    const { pathname, search } = new URL(context.req.url)
    const headers = {
      ...context.req.header(),
      cookie: undefined,
      origin: undefined,
      host: undefined,
      authorization: token === undefined ? undefined : `Bearer ${token}`,
    }
    // Before the answer, a page that closes aborts the request. After it, the server of this host cancels the body.
    const leaving = new AbortController()
    const leave = (): void => leaving.abort()
    context.req.raw.signal.addEventListener('abort', leave)
    try {
      return await proxy(`${base}${pathname}${search}`, {
        raw: new Request(context.req.raw, { signal: leaving.signal }),
        headers,
        signal: leaving.signal,
        // A redirect must not send the token to another server.
        redirect: 'manual',
      })
    } catch {
      // The page has closed.
      if (context.req.raw.signal.aborted) return new Response(null, { status: 499 })
      // The page retries, as after a server restart.
      return context.json(
        {
          type: 'about:blank',
          title: 'The server is out of reach',
          status: 503,
          code: 'server-unreachable',
          detail: `${base} does not answer.`,
        },
        503,
        { 'content-type': 'application/problem+json', 'retry-after': '1' },
      )
    } finally {
      context.req.raw.signal.removeEventListener('abort', leave)
    }
  })
  app.get('*', (context) => pageFile(context.req.raw))
  return (request) => app.fetch(request)
}
