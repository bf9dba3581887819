import { SessionError } from '../../errors.ts'
import type { SessionErrorCode } from '../../errors.ts'

/** Primary result codes of SQLite. Extended codes hold them in the lowest byte. */
export const sqliteCodes = { busy: 5, corrupt: 11, full: 13, constraint: 19, notADatabase: 26 } as const

const meanings: Readonly<Record<number, { readonly code: SessionErrorCode; readonly text: string }>> = {
  [sqliteCodes.corrupt]: { code: 'store-corrupt', text: 'is damaged' },
  [sqliteCodes.notADatabase]: { code: 'store-corrupt', text: 'is not a SQLite database' },
  [sqliteCodes.full]: { code: 'store-full', text: 'cannot grow: the disk is full' },
}

/** Returns the primary result code, or undefined if the error is not from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

export function storeError(error: unknown, file: string): unknown {
  if (SessionError.isInstance(error)) return error
  const code = sqliteCode(error)
  if (code === undefined && !isFileError(error)) return error
  const { code: storeCode, text } = meanings[code ?? 0] ?? { code: 'store-unavailable', text: 'cannot be used' }
  return new SessionError(storeCode, `The database ${file} ${text}`, { cause: error })
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
