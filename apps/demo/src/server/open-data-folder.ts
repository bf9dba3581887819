import { access, constants, mkdir } from 'node:fs/promises'
import { writeReports } from './reports.ts'
import { dataFolderFrom, SettingsError } from './settings.ts'
import type { Environment } from './settings.ts'

/** Creates the data folder with the reports and returns its path. Throws `SettingsError` if it cannot be written. */
export async function openDataFolder(env: Environment): Promise<string> {
  const folder = dataFolderFrom(env)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await access(folder, constants.W_OK)
    await writeReports(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new SettingsError(
      `The data folder ${folder} cannot be written (${code}). Give this user the right to, or name another folder with DEMO_DATA.`,
    )
  }
  return folder
}
