import { checkKeys, checkName, checkRequired } from '../base/checks.ts'

export interface Folders {
  readonly folders: readonly string[]
}

/** Throws `invalid-config`. What is wrong in the folders is no misuse and is told otherwise. */
export function checkFolders(path: string, options: Folders): void {
  checkKeys(`${path}.options`, options, ['folders'])
  checkRequired('folders', options.folders, 'a list of paths', Array.isArray)
  for (const [index, folder] of options.folders.entries()) checkName(`folders[${index}]`, folder)
}
