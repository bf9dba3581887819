import { readFile } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Scripts and styles of this page only, no pictures from elsewhere, and nobody may frame it. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The file of a path of the built page; `/` is its index. Undefined for anything else. */
export async function readPageFile(pageFolder: string, path: string): Promise<Response | undefined> {
  const file = resolve(join(pageFolder, path === '/' ? 'index.html' : path))
  const mediaType = mediaTypes[extname(file)]
  if (!file.startsWith(pageFolder + sep) || mediaType === undefined) return undefined
  const body = await readFile(file).catch(() => undefined)
  return body && new Response(body, { headers: headersFor(path, mediaType) })
}

function headersFor(path: string, mediaType: string): Record<string, string> {
  // Built files have a hash of their content in their name.
  const caching = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-store'
  return {
    'content-type': mediaType,
    'cache-control': caching,
    'content-security-policy': contentSecurityPolicy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
}
