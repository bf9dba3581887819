import { checkKeys, refuseConfig } from '../agent/check-options.ts'

export interface Folders {
  readonly folders: readonly string[]
}

/** Throws `invalid-config`. What is wrong in the folders is no misuse and is told otherwise. */
export function checkFolders(what: string, options: Folders): void {
  checkKeys(what, options, ['folders'])
  const { folders } = options
  if (!Array.isArray(folders) || folders.some((folder) => typeof folder !== 'string')) {
    refuseConfig(`${what} needs folders, a list of paths`)
  }
}
