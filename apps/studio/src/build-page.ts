import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const studio = resolve(import.meta.dirname, '..')
const packages = resolve(studio, '../../packages')
const builtPages = join(studio, 'dist/page')
const configFile = join(studio, 'vite.config.ts')

/** Source files of the page. */
const sources = [
  join(studio, 'src'),
  configFile,
  join(studio, 'package.json'),
  join(packages, 'client/src'),
  join(packages, 'agent-loop/src/events'),
  resolve(studio, '../../pnpm-lock.yaml'),
]

/**
 * Returns the folder of the built page. Builds the page first if its sources have changed. The name of the folder is a hash of the
 * sources, and the folder appears in one step when it is complete: several processes may build at the same time.
 */
export async function buildPage(): Promise<string> {
  const folder = join(builtPages, await stampOf(sources))
  if (existsSync(folder)) return folder
  const draft = `${folder}.${process.pid}`
  const { build } = await import('vite')
  const { compression } = await import('vite-plugin-compression2')
  const { NODE_ENV } = process.env
  // Vite selects the React build by this variable. A test or shell must not put the development build into the page.
  process.env.NODE_ENV = 'production'
  await build({
    configFile,
    build: { outDir: draft },
    plugins: [compression({ algorithms: ['brotliCompress', 'gzip'], threshold: 1024 })],
  }).finally(() => {
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

/** Builds the page, and rebuilds it on every change until `close`. Resolves after the first build. */
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
