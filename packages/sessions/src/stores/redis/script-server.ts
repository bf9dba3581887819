import type { Script } from './scripts.ts'

/** Executes scripts on a server. */
export interface ScriptServer {
  /** How errors name it. */
  readonly name: string
  /** Rises when the server has lost the scripts that were loaded: it may have lost everything else too. */
  readonly losses: number
  /** Connects and checks the server, if that is not done. */
  open(): Promise<void>
  /**
   * Returns what the script returned. Rejects with a `SessionError` if it was not executed, and with a `LostAnswer` if this is
   * not known.
   */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  close(): Promise<void>
}

/** The script was sent, and there is no answer. It may have been executed, or may be executed at any time. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer'
}
