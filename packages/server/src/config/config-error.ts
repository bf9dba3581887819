/** Fault in the configuration. It never repeats a value, because that could be a secret. */
export interface Fault {
  /** Configuration key, for example `limits.bodyBytes`. */
  readonly path: string
  /** Source of the value: a flag, a variable or a file. Absent if the value is missing. */
  readonly origin?: string
  readonly message: string
}

/** Error with all faults of the flags, variables and files of a command. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[], cause?: unknown) {
    super(faults.map(describeFault).join('\n'), cause === undefined ? undefined : { cause })
    this.faults = faults
  }
}

/** Returns a handler that names a package which the store needs and which is not installed, with the packages to install. */
export function missingPackage(name: string, install = name): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError([{ path: 'store', message: `needs the package ${name}; run: npm install ${install}` }])
  }
}

function describeFault({ path, origin, message }: Fault): string {
  if (origin === undefined || origin === path) return `${path}: ${message}`
  return `${path} (${origin}): ${message}`
}
