import { ConfigError } from '../config/config-error.ts'
import { readFlags } from '../config/read-flags.ts'
import { misspelledVariables } from '../config/read-variables.ts'
import { resolveConfig, type Requirable, type WholeConfig } from '../config/resolve-config.ts'
import type { CommandCall, CommandFlag } from './command.ts'
import { configFlag } from './flags.ts'

/** Throws a `ConfigError` with everything that is wrong. `version` reads the file again. */
export async function readConfig<Key extends Requirable>(
  call: CommandCall,
  required: readonly Key[],
  version = 0,
): Promise<WholeConfig<Key>> {
  const { argv, environment, folder } = call
  const flags = readFlags(argv, configFlag, { base: folder })
  const surplus = flags.positionals.map((word) => ({ path: word, message: 'is no argument of this command' }))
  for (const { name, meant } of misspelledVariables(environment)) await call.tell(`${name} is not read; did you mean ${meant}?`)
  return resolveConfig({ flags: { ...flags, faults: [...surplus, ...flags.faults] }, environment, folder, required, version })
}

/** Throws for a flag or an argument that the command does not know. */
export function readOwnFlags<Name extends string>(
  { argv, folder }: CommandCall,
  known: Readonly<Record<Name, CommandFlag>>,
): Readonly<Partial<Record<Name, string>>> {
  const flags = readFlags(argv, known, { base: folder, settings: false })
  const surplus = flags.positionals.map((word) => ({ path: word, message: 'is no argument of this command' }))
  const faults = [...surplus, ...flags.faults]
  if (faults.length > 0) throw new ConfigError(faults)
  return flags.extra
}
