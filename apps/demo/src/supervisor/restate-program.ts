import { existsSync } from 'node:fs'
import { findRestate } from '../../../../scripts/restate/find-restate.ts'
import { SettingsError } from '../server/settings.ts'
import type { Environment } from '../server/settings.ts'
import { storeChoiceFrom } from '../server/store-choice.ts'

/** Returns the program of the Restate server. Throws `SettingsError` if there is none, or if the store is not on Postgres. */
export function restateProgram(env: Environment): string {
  if (storeChoiceFrom(env).kind !== 'postgres')
    throw new SettingsError('On Restate the sessions are in Postgres: set DEMO_STORE to postgres://user:password@host:port/database.')
  const { RESTATE_SERVER } = env
  const program = findRestate({ RESTATE_SERVER })
  if (program === undefined)
    throw new SettingsError('There is no Restate server for this system on npm. Install one, and name its program in RESTATE_SERVER.')
  if (existsSync(program)) return program
  throw new SettingsError(`There is no Restate server at ${program}. Name one in RESTATE_SERVER, or leave it out to use the one from npm.`)
}
