import { ConfigError, type Fault } from '../config/config-error.ts'
import { readFlags } from '../config/read-flags.ts'
import { misspelledVariables } from '../config/read-variables.ts'
import { resolveConfig, type Requirable, type ResolvedConfig, type WholeConfig } from '../config/resolve-config.ts'
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
  await tellOfMisspelled(call)
  return resolveConfig({ flags: { ...flags, faults: [...flags.positionals.map(surplusFault), ...flags.faults] }, environment, folder, required, version })
}

/** The same for a command with flags and one argument of its own; `what` names that. */
export async function readConfigAndWord<Name extends string>(
  call: CommandCall,
  known: Readonly<Record<Name | 'config', CommandFlag>>,
  what: string,
): Promise<{ readonly config: ResolvedConfig; readonly word: string; readonly extra: Readonly<Partial<Record<Name | 'config', string>>> }> {
  const { argv, environment, folder } = call
  const flags = readFlags(argv, known, { base: folder })
  const [word = '', ...more] = flags.positionals
  const faults = [...(word === '' ? [{ path: what, message: 'is required' }] : []), ...more.map(surplusFault), ...flags.faults]
  await tellOfMisspelled(call)
  const config = await resolveConfig({ flags: { ...flags, faults }, environment, folder, required: [] })
  return { config, word, extra: flags.extra }
}

function surplusFault(word: string): Fault {
  return { path: word, message: 'is no argument of this command' }
}

async function tellOfMisspelled({ environment, tell }: CommandCall): Promise<void> {
  for (const { name, meant } of misspelledVariables(environment)) await tell(`${name} is not read; did you mean ${meant}?`)
}

/** Throws for a flag or an argument that the command does not know. */
export function readOwnFlags<Name extends string>(
  { argv, folder }: CommandCall,
  known: Readonly<Record<Name, CommandFlag>>,
): Readonly<Partial<Record<Name, string>>> {
  const flags = readFlags(argv, known, { base: folder, settings: false })
  const faults = [...flags.positionals.map(surplusFault), ...flags.faults]
  if (faults.length > 0) throw new ConfigError(faults)
  return flags.extra
}
