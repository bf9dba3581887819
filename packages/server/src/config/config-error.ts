import { missingPackage } from '@bowline/llm/arguments'

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

/** Returns a handler of a failed import. If the package is not installed, the fault is that of the key `path`. */
export function missingFor(path: string, name: string, install?: string): (error: unknown) => never {
  return missingPackage(name, (message) => new ConfigError([{ path, message }]), install)
}

function describeFault({ path, origin, message }: Fault): string {
  if (origin === undefined || origin === path) return `${path}: ${message}`
  return `${path} (${origin}): ${message}`
}
