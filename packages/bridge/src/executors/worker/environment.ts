type Environment = Readonly<Record<string, string | undefined>>

/** Inherited variables: enough to find and run programs, but no secrets. */
const inherited = new Set([
  ...['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR'],
  // Windows starts hardly any program without these.
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'],
  ...['HOMEDRIVE', 'HOMEPATH', 'PROGRAMFILES', 'PROGRAMDATA', 'PROCESSOR_ARCHITECTURE', 'NUMBER_OF_PROCESSORS'],
])

export interface EnvironmentOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly inheritEnv?: boolean
}

/** Returns the environment of a worker: the inherited variables, overridden by the configured ones. */
export function workerEnvironment({ env = {}, inheritEnv = false }: EnvironmentOptions, own: Environment): Record<string, string> {
  const passes = inheritEnv ? isNotOurs : isInherited
  const kept = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== undefined && passes(entry[0]))
  return { ...Object.fromEntries(kept), ...env }
}

function isInherited(name: string): boolean {
  const upper = name.toUpperCase()
  return inherited.has(upper) || upper.startsWith('LC_')
}

function isNotOurs(name: string): boolean {
  return !name.toUpperCase().startsWith('BOWLINE_')
}
