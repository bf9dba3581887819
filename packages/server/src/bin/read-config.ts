import { ConfigError, type Fault } from '../config/config-error.ts'
import { readFlags } from '../config/read-flags.ts'
import { misspelledVariables } from '../config/read-variables.ts'
import { resolveConfig, type Requirable, type ResolvedConfig, type WholeConfig } from '../config/resolve-config.ts'
import type { CommandCall, CommandFlag } from './command.ts'
import { configFlag } from './flags.ts'

/** Reads the configuration. Throws a `ConfigError` with all faults. A new `version` reads the file again. */
export async function readConfig<Key extends Requirable>(
  call: CommandCall,
  required: readonly Key[],
  version = 0,
): Promise<WholeConfig<Key>> {
  const { argv, environment, folder } = call
  const flags = readFlags(argv, configFlag, { base: folder })
  await tellOfMisspelled(call)
  return resolveConfig({
    flags: { ...flags, faults: [...flags.positionals.map(surplusFault), ...flags.faults] },
    environment,
    folder,
    required,
    version,
  })
}

/** Same as `readConfig`, for a command with its own flags and one argument. `what` is the name of the argument. */
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
  return { path: word, message: 'is not an argument of this command' }
}

async function tellOfMisspelled({ environment, tell }: CommandCall): Promise<void> {
  for (const { name, meant } of misspelledVariables(environment)) await tell(`${name} is ignored; did you mean ${meant}?`)
}

/** Reads the flags of a command. Throws if a flag or an argument is unknown. */
export function readOwnFlags<Name extends string>(
  { argv, folder }: CommandCall,
  known: Readonly<Record<Name, CommandFlag>>,
): Readonly<Partial<Record<Name, string>>> {
  const flags = readFlags(argv, known, { base: folder, settings: false })
  const faults = [...flags.positionals.map(surplusFault), ...flags.faults]
  if (faults.length > 0) throw new ConfigError(faults)
  return flags.extra
}
