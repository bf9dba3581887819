const missingCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR']

/** Returns true if a file or folder does not exist, also if its parent folder is a file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && missingCodes.includes(error.code)
}
