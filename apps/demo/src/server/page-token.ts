import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export function pageTokenFile(dataFolder: string): string {
  return join(dataFolder, 'page-token')
}

/**
 * Returns the secret of this data folder. It outlives the process, so that a page that was open before a restart still gets in.
 * If several processes start at once, all of them get the same: the file appears with its content.
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

/** A cookie belongs to a host, not to a port: the name keeps two demos on one machine apart. */
function cookieName(port: number): string {
  return `bowline-demo-${port}`
}

export function cookieHeader(port: number, token: string): string {
  return `${cookieName(port)}=${token}; Path=/; HttpOnly; SameSite=Strict`
}

/** As the cookie of the page, or as a bearer token: for the terminal and for clients of MCP, who may read the data folder. */
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
