import { cp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'tsup'
import { buildPage } from './build-page.ts'

// Builds the content of the tarball: the command, with the page beside it.
const studio = resolve(import.meta.dirname, '..')
const outDir = join(studio, 'dist/package')
await build({
  ...{ config: false, entry: { bin: join(studio, 'src/bin.ts') }, outDir, clean: true, silent: true },
  // tsup would leave out the `node:` of modules that have no other name.
  ...{ format: 'esm', target: 'node22', removeNodeProtocol: false },
})
await cp(await buildPage(), join(outDir, 'page'), { recursive: true })
