import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { ConfigError, type Fault } from './config-error.ts'
import { checkFile } from './file-schema.ts'
import type { Given } from './given.ts'
import { describeLoadFailure, loadModule } from './load-module.ts'
import type { ServerConfig } from './server-config.ts'
import { settingKeys, splitKey } from './settings.ts'

/** Content of a configuration file. Empty without a file. */
export interface FileReading {
  readonly file?: string
  readonly given: readonly Given[]
  readonly faults: readonly Fault[]
  /** Top-level keys of the file, also those with invalid values. */
  readonly mentions: readonly string[]
  /** Settings that only a file can have. */
  readonly more: Pick<ServerConfig, 'auth' | 'access' | 'bridge' | 'redact' | 'notify' | 'webhooks'>
}

const extensions = ['ts', 'mjs', 'js', 'json']

/** Returns the named file, else the configuration file in the folder. */
export function findConfigFile(folder: string, named: string | undefined, origin: string): string | undefined {
  if (named !== undefined) {
    const file = resolve(folder, named)
    if (existsSync(file)) return file
    throw new ConfigError([{ path: origin, message: `there is no file ${file}` }])
  }
  const found = extensions.map((extension) => join(folder, `bowline.config.${extension}`)).filter((file) => existsSync(file))
  if (found.length <= 1) return found[0]
  const names = found.map((file) => basename(file)).join(' and ')
  throw new ConfigError([{ path: '--config', message: `there are ${names}: name one of them` }])
}

/** Reads the file. Each `version` reads it anew. Throws if it holds no configuration at all. */
export async function readConfigFile(file: string | undefined, version: number): Promise<FileReading> {
  if (file === undefined) return { given: [], faults: [], mentions: [], more: {} }
  const origin = basename(file)
  const content = await loadContent(file, origin, version)
  const mentions = Object.keys(content)
  const check = checkFile(content, origin)
  if ('faults' in check) return { file, given: [], faults: check.faults, mentions, more: {} }
  return { file, given: givenOf(check.config, file), faults: [], mentions, more: check.config }
}

async function loadContent(file: string, origin: string, version: number): Promise<object> {
  const content = await loadDefault(file, version).catch((error: unknown) => {
    throw new ConfigError([{ path: origin, message: describeLoadFailure(error, file) }], error)
  })
  if (typeof content === 'object' && content !== null) return content
  throw new ConfigError([{ path: origin, message: 'must export the result of defineServerConfig as its default' }])
}

async function loadDefault(file: string, version: number): Promise<unknown> {
  if (extname(file) === '.json') return JSON.parse(await readFile(file, 'utf8'))
  return (await loadModule(file, version)).default
}

function givenOf(config: ServerConfig, file: string): readonly Given[] {
  const values = config as Readonly<Record<string, unknown>>
  return settingKeys.flatMap((key) => {
    const [section, name] = splitKey(key)
    const keys = (section === undefined ? values : values[section]) as typeof values | undefined
    const value = keys?.[name]
    // Tokens and functions are not values of the table.
    const isMore = key === 'auth' && value !== 'none'
    return value === undefined || isMore ? [] : [{ key, value, origin: basename(file), base: dirname(file) }]
  })
}
