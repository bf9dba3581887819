// node --import use-built.ts: loads the Bowline packages from their builds, as users get them, and not from their sources.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Manifest {
  readonly publishConfig: { readonly exports: Readonly<Record<string, { readonly default: string }>> }
}

const packages = join(import.meta.dirname, '../../packages')

registerHooks({
  resolve(specifier, context, next) {
    const [, name, subpath = ''] = /^@bowline\/([^/]+)(\/.*)?$/.exec(specifier) ?? []
    return name === undefined ? next(specifier, context) : { url: builtUrl(name, `.${subpath}`), shortCircuit: true }
  },
})

function builtUrl(name: string, entry: string): string {
  const folder = join(packages, name)
  const { publishConfig } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const file = publishConfig.exports[entry]?.default
  if (file === undefined) throw new Error(`@bowline/${name} has no entry ${entry}`)
  const path = join(folder, file)
  if (!existsSync(path)) throw new Error(`@bowline/${name} is not built: run npm run build first`)
  return pathToFileURL(path).href
}
