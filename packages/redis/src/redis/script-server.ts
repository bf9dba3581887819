import type { Script } from './scripts.ts'

/** Runs scripts on a server. */
export interface ScriptServer {
  /** Name in errors. */
  readonly name: string
  /** Increases when the server has lost loaded scripts: it may have lost all other data too. */
  readonly losses: number
  /** Connects and checks the server, unless that is done. */
  open(): Promise<void>
  /**
   * Runs a script and returns its result. Rejects with a `SessionError` if it was not executed, and with `LostAnswer` if that is
   * unknown.
   */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  close(): Promise<void>
}

/** A script was sent and not answered. It may have been executed, or may still be. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer'
}
