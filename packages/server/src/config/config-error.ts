/** One thing that somebody must correct. It repeats no value: that could be a secret. */
export interface Fault {
  /** The key, `limits.bodyBytes` for example. */
  readonly path: string
  /** Where it was said: a flag, a variable, a file. Absent: nowhere. */
  readonly origin?: string
  readonly message: string
}

/** Everything that is wrong with what the command was given. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[], cause?: unknown) {
    super(faults.map(describeFault).join('\n'), cause === undefined ? undefined : { cause })
    this.faults = faults
  }
}

function describeFault({ path, origin, message }: Fault): string {
  if (origin === undefined || origin === path) return `${path}: ${message}`
  return `${path} (${origin}): ${message}`
}
