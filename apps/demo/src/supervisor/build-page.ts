import { createHash } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const demo = resolve(import.meta.dirname, '../..')
const packages = resolve(demo, '../../packages')
const stampFile = join(demo, 'dist/page/.stamp')

/** What the page is made of. */
const sources = [
  join(demo, 'src'),
  join(demo, 'vite.config.ts'),
  join(demo, 'package.json'),
  join(packages, 'client/src'),
  join(packages, 'agent-loop/src/events'),
  resolve(demo, '../../pnpm-lock.yaml'),
]

/** Builds the page when something that it is made of has changed since the last time. */
export async function buildPage(): Promise<'built' | 'fresh'> {
  const stamp = await stampOf(sources)
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === stamp) return 'fresh'
  const { build } = await import('vite')
  await build({ configFile: join(demo, 'vite.config.ts') })
  await writeFile(stampFile, stamp)
  return 'built'
}

/** Rebuilds the page whenever it changes; resolves after the first time. */
export async function watchPage(): Promise<void> {
  const { build } = await import('vite')
  await build({ configFile: join(demo, 'vite.config.ts'), build: { watch: {} } })
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) await addTo(hash, path)
  return hash.digest('hex')
}

async function addTo(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  const facts = await stat(path)
  if (!facts.isDirectory()) {
    hash.update(`${path}\0${facts.size}\0${facts.mtimeMs}\n`)
    return
  }
  for (const name of (await readdir(path)).sort()) await addTo(hash, join(path, name))
}
