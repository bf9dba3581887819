import { cp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'tsup'
import { buildPage } from './build-page.ts'

// Builds the content of the tarball: the command and the page.
const studio = resolve(import.meta.dirname, '..')
const outDir = join(studio, 'dist/package')
await build({
  config: false,
  entry: { bin: join(studio, 'src/bin.ts') },
  outDir,
  clean: true,
  silent: true,
  // Otherwise tsup removes `node:` from modules that only exist with it.
  format: 'esm',
  target: 'node22',
  removeNodeProtocol: false,
})
await cp(await buildPage(), join(outDir, 'page'), { recursive: true })
