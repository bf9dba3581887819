import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDeclarations } from './declarations.mjs'

/**
 * How every package is built: its entries are what its package.json exports (and its bins), so that the two
 * cannot drift apart.
 *
 * @param {string} folder the package's folder
 * @returns {import('tsup').Options}
 */
export function packageBuild(folder) {
  const entries = entriesOf(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  return {
    entry: entries,
    format: ['esm'],
    target: 'node22',
    outDir: 'dist',
    clean: true,
    // tsup would take a compiler written in JavaScript: ten times the time.
    dts: false,
    onSuccess: () => writeDeclarations(folder, entries),
    sourcemap: true,
    // The maps name the files of `src`, which the tarball holds: their text is not needed twice.
    esbuildOptions: (options) => {
      options.sourcesContent = false
    },
    splitting: true,
    treeshake: false,
    // tsup would turn `node:sqlite` into `sqlite`, which does not exist.
    removeNodeProtocol: false,
  }
}

/**
 * @param {{ exports: Record<string, string>, bin?: Record<string, string> }} manifest
 * @returns {Record<string, string>} output path without extension, by source file
 */
export function entriesOf(manifest) {
  const sources = [...Object.values(manifest.exports), ...Object.values(manifest.bin ?? {})]
  return Object.fromEntries(
    sources.map((source) => [source.replace(/^\.\/src\//, '').replace(/\.tsx?$/, ''), source]),
  )
}
