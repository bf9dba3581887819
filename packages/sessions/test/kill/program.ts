import { renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const folder = fileURLToPath(new URL('../../node_modules/.cache/programs/', import.meta.url))

/** What Node made of a program is kept for its next start. */
export const environment: NodeJS.ProcessEnv = { ...process.env, NODE_COMPILE_CACHE: `${folder}compiled` }

const built = new Map<string, string>()

/** A program of the fixtures as one file: it starts in a third of the time that its several hundred sources take. */
export function programFile(name: string): string {
  const file = built.get(name) ?? buildProgram(name)
  built.set(name, file)
  return file
}

function buildProgram(name: string): string {
  const file = `${folder}${name}.mjs`
  const own = `${folder}${name}-${process.pid}.mjs`
  buildSync({
    entryPoints: [fileURLToPath(new URL(`../fixtures/${name}.ts`, import.meta.url))],
    outfile: own,
    ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'error' },
    // For what was written with `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
  // Other processes build it too.
  renameSync(own, file)
  return file
}
