import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const studio = resolve(import.meta.dirname, '..')
const packages = resolve(studio, '../../packages')
const builtPages = join(studio, 'dist/page')
const configFile = join(studio, 'vite.config.ts')

/** What the page is made of. */
const sources = [
  join(studio, 'src'),
  configFile,
  join(studio, 'package.json'),
  join(packages, 'client/src'),
  join(packages, 'agent-loop/src/events'),
  resolve(studio, '../../pnpm-lock.yaml'),
]

/**
 * The folder of the built page, built first when something that it is made of has changed. The folder is named by what
 * it was made of, and appears at once when it is complete: several may build at the same time.
 */
export async function buildPage(): Promise<string> {
  const folder = join(builtPages, await stampOf(sources))
  if (existsSync(folder)) return folder
  const draft = `${folder}.${process.pid}`
  const { build } = await import('vite')
  const { compression } = await import('vite-plugin-compression2')
  const { NODE_ENV } = process.env
  // Vite takes the React of this environment. A test or a shell must not put that of development into the page of users.
  process.env.NODE_ENV = 'production'
  await build({ configFile, build: { outDir: draft }, plugins: [compression({ algorithms: ['brotliCompress', 'gzip'], threshold: 1024 })] }).finally(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  await rename(draft, folder).catch((error: unknown) => {
    if (!existsSync(folder)) throw error
  })
  await removeAllBut(folder)
  return folder
}

export interface WatchedPage {
  readonly folder: string
  close(): Promise<void>
}

/** Builds the page, and again whenever it changes, until `close`. Resolves after the first time. */
export async function watchPage(): Promise<WatchedPage> {
  const folder = join(builtPages, 'watched')
  const { build } = await import('vite')
  const watcher = await build({ configFile, build: { outDir: folder, watch: {} } })
  if (!('close' in watcher)) throw new Error('vite does not watch')
  await new Promise<void>((resolve) => watcher.on('event', ({ code }) => void (code === 'END' && resolve())))
  return { folder, close: () => watcher.close() }
}

async function removeAllBut(kept: string): Promise<void> {
  for (const name of await readdir(builtPages)) {
    const folder = join(builtPages, name)
    const isDraftOfKept = folder.startsWith(`${kept}.`) && !folder.endsWith(`.${process.pid}`)
    if (folder !== kept && !isDraftOfKept) await rm(folder, { recursive: true, force: true })
  }
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) await addTo(hash, path)
  return hash.digest('hex').slice(0, 16)
}

async function addTo(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  const facts = await stat(path)
  if (!facts.isDirectory()) {
    hash.update(`${path}\0${facts.size}\0${facts.mtimeMs}\n`)
    return
  }
  for (const name of (await readdir(path)).sort()) await addTo(hash, join(path, name))
}
