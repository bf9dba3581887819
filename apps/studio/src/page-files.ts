import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'

/** Allows only scripts and styles of this page, no external images, and no embedding in a frame. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/**
 * Returns a handler for the files of the built page, compressed or not, as the browser accepts. Answers all other paths with 404.
 */
export function createPageFiles(pageFolder: string): (request: Request) => Response | Promise<Response> {
  const app = new Hono()
  app.use(async (context, next) => {
    await next()
    if (context.res.status === 404) return
    // The name of a built file contains a hash of its content.
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
