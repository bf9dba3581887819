import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'

/** Scripts and styles of this page only, no pictures from elsewhere, and nobody may frame it. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/**
 * Serves the built page, each file as it is or as the build has compressed it, whichever the browser takes. Anything else is
 * a 404.
 */
export function createPageFiles(pageFolder: string): (request: Request) => Response | Promise<Response> {
  const app = new Hono()
  app.use(async (context, next) => {
    await next()
    if (context.res.status === 404) return
    // Built files have a hash of their content in their name.
    context.header('cache-control', context.req.path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-store')
    context.header('vary', 'Accept-Encoding')
    context.header('content-security-policy', contentSecurityPolicy)
    context.header('x-content-type-options', 'nosniff')
    context.header('referrer-policy', 'no-referrer')
  })
  app.get('*', serveStatic({ root: pageFolder, precompressed: true }))
  app.notFound((context) => context.json({ code: 'route-not-found' }, 404))
  return (request) => app.fetch(request)
}
