import type { ExtraFlag } from '../config/read-flags.ts'
import type { Environment } from '../config/read-variables.ts'

/** One thing that `bowline-server` does. */
export interface Command {
  /** Its words. */
  readonly name: string
  readonly usage: string
  /** In one line. */
  readonly about: string
  /** It takes the flags of all keys of the configuration. */
  readonly takesSettings: boolean
  readonly flags: Readonly<Record<string, CommandFlag>>
  /** Loads what it needs, and runs it. */
  run(call: CommandCall): Promise<Outcome>
}

/** `serving`: the process is to live on. `problems`: it did its work, and found some. */
export type Outcome = 'done' | 'serving' | 'problems'

export interface CommandFlag extends ExtraFlag {
  readonly about: string
  readonly placeholder?: string
}

/** What a command has to do with the world. */
export interface Surroundings {
  readonly environment: Environment
  readonly folder: string
  /** For programs. Resolves when it is written: who exits then loses nothing. */
  print(text: string): Promise<void>
  /** For people. */
  readonly tell: (text: string) => Promise<void>
}

export interface CommandCall extends Surroundings {
  /** What follows the name of the command. */
  readonly argv: readonly string[]
}
