import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { BridgeConfig } from '../config.ts'
import { BridgeError } from '../errors.ts'

/** Throws `CONFIG` for anything that somebody must correct before the bridge can start. */
export async function loadConfig(argv: readonly string[]): Promise<BridgeConfig> {
  const file = configFile(argv)
  if (file === undefined) return {}
  const config = await importDefault(file)
  if (typeof config !== 'object' || config === null) {
    throw new BridgeError('CONFIG', `${file} must export the result of defineBridgeConfig as its default`)
  }
  return config
}

function configFile(argv: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...argv], options: { config: { type: 'string' } } }).values.config
  } catch (error) {
    throw new BridgeError('CONFIG', `${messageOf(error)}\nUsage: bowline-bridge [--config FILE]`)
  }
}

async function importDefault(file: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(resolve(file)).href)) as { readonly default?: unknown }
    return module.default
  } catch (error) {
    throw new BridgeError('CONFIG', `${file} cannot be loaded: ${messageOf(error)}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
