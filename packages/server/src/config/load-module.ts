import { basename } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Imports a module. Each `version` loads the file anew; modules that it imports are not loaded again. */
export function loadModule(file: string, version = 0): Promise<Readonly<Record<string, unknown>>> {
  const { href } = pathToFileURL(file)
  return import(version === 0 ? href : `${href}?version=${version}`) as Promise<Record<string, unknown>>
}

/** Returns in one line why a module cannot be loaded, and where. */
export function describeLoadFailure(error: unknown, file: string): string {
  if (!(error instanceof Error)) return `cannot be loaded: it threw ${typeof error}`
  const [message = ''] = error.message.split('\n')
  return `cannot be loaded: ${message}${placeOf(error, file)}${isReadAsCommonJs(error) ? commonJsHint : ''}`
}

const commonJsHint = ': Node reads it as CommonJS, as package.json says. Run npm pkg set type=module'

/** Returns true if Node read the module as CommonJS: `npm init` of npm 11 writes `"type": "commonjs"`. */
function isReadAsCommonJs(error: Error): boolean {
  return error instanceof SyntaxError && /import statement outside a module|Unexpected token 'export'/.test(error.message)
}

const placeForm = /(?:^|\(|at )((?:file:\/\/)?\/[^\n]+?):(\d+)(?::\d+\)?)?$/m

function placeOf({ stack = '' }: Error, file: string): string {
  const [, place = '', line] = placeForm.exec(stack) ?? []
  const path = place.startsWith('file://') ? fileURLToPath(place.replace(/\?.*$/, '')) : place
  if (line === undefined || path.includes('node_modules')) return ''
  return path === file ? ` (line ${line})` : ` (${basename(path)}, line ${line})`
}
