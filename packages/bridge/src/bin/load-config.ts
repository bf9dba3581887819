import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isRecord, type FieldChecks } from '@bowline/llm/arguments'
import { configChecks as check } from '../arguments.ts'
import type { BridgeConfig } from '../config.ts'
import { BridgeError } from '../errors.ts'
import { bridgeOptionChecks } from '../settings.ts'

const extensions = ['ts', 'js', 'json']

// Lists of workers and servers are checked only shallowly here: their own modules check them and are loaded on demand.
const fieldChecks: FieldChecks<BridgeConfig> = {
  ...bridgeOptionChecks,
  runtimes: check.listOf(check.requiredMethods('start', 'stop')),
  workers: check.listOf(checkObject),
  servers: check.listOf(checkObject),
}

function checkObject(path: string, value: unknown): void {
  check.checkRequired(path, value, 'an object', isRecord)
}

export interface LoadedConfig {
  readonly config: BridgeConfig
  /** Location of the file. Relative paths start there, not in the working directory. */
  readonly place: ConfigPlace
}

export interface ConfigPlace {
  /** Name of the file, as shown in errors before the field. */
  readonly path: string
  readonly folder: string
}

/**
 * Reads the named file, else the configuration file in the folder, else returns an empty configuration. Throws `CONFIG` for
 * anything that the user must correct before the bridge can start.
 */
export async function loadConfig(named: string | undefined, folder: string): Promise<LoadedConfig> {
  const file = named === undefined ? configFileIn(folder) : resolve(folder, named)
  if (file === undefined) return { config: {}, place: { path: 'bowline-bridge', folder } }
  const given = await loadDefault(file)
  if (!isRecord(given)) throw new BridgeError('CONFIG', faultOf(file))
  const place = { path: basename(file), folder: dirname(file) }
  const config = extname(file) === '.json' ? withoutSchema(place.path, given) : given
  check.record(fieldChecks)(place.path, config)
  return { config, place }
}

function faultOf(file: string): string {
  if (extname(file) === '.json') return `${file} must be an object, such as { "workers": [] }`
  return `${file} must export the result of defineBridgeConfig as its default`
}

/** Removes `$schema`, which only editors use. */
function withoutSchema(path: string, { $schema, ...config }: Readonly<Record<string, unknown>>): object {
  check.checkText(`${path}.$schema`, $schema)
  return config
}

function configFileIn(folder: string): string | undefined {
  const found = extensions.map((extension) => join(folder, `bowline.bridge.${extension}`)).filter((file) => existsSync(file))
  if (found.length <= 1) return found[0]
  const names = found.map((file) => basename(file)).join(' and ')
  throw new BridgeError('CONFIG', `Found ${names}: name one of them with --config`)
}

async function loadDefault(file: string): Promise<unknown> {
  try {
    if (extname(file) === '.json') return JSON.parse(await readFile(file, 'utf8'))
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    return module.default
  } catch (error) {
    throw new BridgeError('CONFIG', `${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}${hintFor(error)}`)
  }
}

/** `npm init` of npm 11 writes `"type": "commonjs"`. */
function hintFor(error: unknown): string {
  const isReadAsCommonJs = error instanceof SyntaxError && /import statement outside a module|Unexpected token 'export'/.test(error.message)
  return isReadAsCommonJs ? ': Node reads it as CommonJS, as package.json says. Run npm pkg set type=module' : ''
}
