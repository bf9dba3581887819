import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { compile } from './native-compiler.mjs'
import { root } from './setup.mjs'

/**
 * Writes the declarations of a package: one file per entry, and files that the entries share. Does not check types.
 *
 * @param {string} folder the package's folder
 * @param {Readonly<Record<string, string>>} entries source file by output path without extension
 */
export async function writeDeclarations(folder, entries) {
  const work = mkdtempSync(join(folder, 'node_modules/declarations-'))
  try {
    const config = join(work, 'tsconfig.json')
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      rootDir: join(root, 'packages'),
      outDir: work,
    }
    const files = Object.values(entries).map((source) => join(folder, source))
    writeFileSync(config, JSON.stringify({ extends: join(folder, 'tsconfig.json'), compilerOptions, files, include: [] }))
    if (!compile(['-p', config])) throw new Error(`The declarations of ${relative(root, folder)} cannot be written.`)
    const input = Object.fromEntries(
      Object.keys(entries).map((name) => [name, join(work, relative(join(root, 'packages'), folder), 'src', `${name}.d.ts`)]),
    )
    const bundle = await rolldown({ input, external: /^[^./]/, plugins: [dts({ dtsOnly: true, tsconfig: false })] })
    await bundle.write({ dir: join(folder, 'dist'), chunkFileNames: '[name]-[hash].d.ts' })
    await bundle.close()
  } finally {
    rmSync(work, { recursive: true })
  }
}
