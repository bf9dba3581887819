import { SessionError } from '../../errors.ts'

const full = ['ENOSPC', 'EDQUOT', 'EFBIG']
const readOnly = ['EROFS', 'EACCES', 'EPERM']

/** Turns an error of the file system into an error of the store that names the file. */
function fileError(error: unknown, path: string): unknown {
  if (SessionError.isInstance(error) || !(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error
  const code = String(error.code)
  if (full.includes(code))
    return new SessionError('store-full', `${path} cannot grow: the disk is full (${code}). Free space`, { cause: error })
  const why = readOnly.includes(code) ? 'cannot be written: make it writable for this process' : 'cannot be used'
  return new SessionError('store-unavailable', `${path} ${why} (${code})`, { cause: error })
}

/** Runs `work` and adds the name of the file to its errors. */
export function withFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw fileError(error, path)
  }
}

export async function withFileAsync<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw fileError(error, path)
  }
}

/** Returns false if the files cannot be written now. */
export function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    if (SessionError.isInstance(error)) return false
    throw error
  }
}

export async function attemptAsync(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (SessionError.isInstance(error)) return false
    throw error
  }
}

export function damageOf(path: string, line: number): SessionError {
  return new SessionError('store-corrupt', `${path} is damaged in line ${line}; it was not changed. Replace it with a backup, or remove it`)
}
