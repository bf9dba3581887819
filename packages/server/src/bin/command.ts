import type { ExtraFlag } from '../config/read-flags.ts'
import type { Environment } from '../config/read-variables.ts'

/** Command of `bowline-server`. */
export interface Command {
  /** Words that select the command. */
  readonly name: string
  readonly usage: string
  /** Description in one line. */
  readonly about: string
  /** True if it takes the flags of all configuration keys. */
  readonly takesSettings: boolean
  readonly flags: Readonly<Record<string, CommandFlag>>
  /** Loads the code that it needs and runs the command. */
  run(call: CommandCall): Promise<Outcome>
}

/** `serving`: the process continues to run. `problems`: the command succeeded and found problems. */
export type Outcome = 'done' | 'serving' | 'problems'

export interface CommandFlag extends ExtraFlag {
  readonly about: string
  readonly placeholder?: string
}

/** Environment of a command. */
export interface CommandEnvironment {
  readonly environment: Environment
  readonly folder: string
  /** Prints output for programs. Resolves when it is written, so that an exit loses nothing. */
  print(text: string): Promise<void>
  /** Prints output for people. */
  readonly tell: (text: string) => Promise<void>
}

export interface CommandCall extends CommandEnvironment {
  /** Words after the name of the command. */
  readonly argv: readonly string[]
}
