import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export function pageTokenFile(dataFolder: string): string {
  return join(dataFolder, 'page-token')
}

/**
 * Returns the secret of this data folder. It survives restarts, so that a page that is already open stays authenticated. If several
 * processes start at once, all get the same secret: the file appears with its content.
 */
export async function readPageToken(dataFolder: string): Promise<string> {
  const file = pageTokenFile(dataFolder)
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 })
  try {
    await link(draft, file)
  } catch (error) {
    if (!isExisting(error)) throw error
  } finally {
    await rm(draft)
  }
  return (await readFile(file, 'utf8')).trim()
}

/** Cookies are shared by all ports of a host: the name separates two demos on one machine. */
function cookieName(port: number): string {
  return `bowline-demo-${port}`
}

export function cookieHeader(port: number, token: string): string {
  return `${cookieName(port)}=${token}; Path=/; HttpOnly; SameSite=Strict`
}

/**
 * Returns true if the request has the token, as the cookie of the page or as a bearer token. The terminal and MCP clients use the
 * latter; they can read the data folder.
 */
export function holdsToken(request: Request, port: number, token: string): boolean {
  const bearer = /^bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (bearer !== undefined) return equal(bearer, token)
  const cookies = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  return cookies.some(([name, value = '']) => name === cookieName(port) && equal(value, token))
}

function equal(one: string, other: string): boolean {
  return timingSafeEqual(hash(one), hash(other))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
