import { SessionError } from './errors.ts'

/** Returns the error for an optional peer that is not installed; returns any other error unchanged. */
export function missingPeer(error: unknown, user: string, name: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') return error
  return new SessionError('invalid-config', `${user} needs the package ${name}; run: npm install ${name}`, { cause: error })
}
