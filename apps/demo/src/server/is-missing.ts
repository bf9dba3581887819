const missingCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR']

/** Whether the file or folder of a call does not exist, also because what should be its folder is a file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && missingCodes.includes(error.code)
}
