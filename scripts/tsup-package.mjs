import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDeclarations } from './declarations.mjs'
import { pureConstants } from './pure-constants.mjs'

/**
 * Returns the build options of a package. Its entries are the exports and bins of its package.json, so that both always agree.
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
    // tsup would use the compiler in JavaScript, which takes ten times the time.
    dts: false,
    esbuildPlugins: [pureConstants, slimManifest],
    onSuccess: () => writeDeclarations(folder, entries),
    sourcemap: true,
    // The maps name files of `src`, which are in the tarball, so they need not contain the text again.
    esbuildOptions: (options) => {
      options.sourcesContent = false
    },
    splitting: true,
    treeshake: false,
    // tsup would change `node:sqlite` to `sqlite`, which does not exist.
    removeNodeProtocol: false,
  }
}

/**
 * Plugin of esbuild that keeps only the name and the version of an imported package.json. The code of a package may read nothing else
 * of it.
 *
 * @type {import('esbuild').Plugin}
 */
const slimManifest = {
  name: 'slim-manifest',
  setup(build) {
    build.onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) => {
      const { name, version } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ name, version }), loader: 'json' }
    })
  },
}

/**
 * @param {{ exports: Record<string, string>, bin?: Record<string, string> }} manifest
 * @returns {Record<string, string>} output path without extension, by source file
 */
export function entriesOf(manifest) {
  const sources = [...Object.values(manifest.exports), ...Object.values(manifest.bin ?? {})]
  return Object.fromEntries(sources.map((source) => [source.replace(/^\.\/src\//, '').replace(/\.tsx?$/, ''), source]))
}
