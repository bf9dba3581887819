import type * as redis from 'redis'
import { SessionError } from '../../errors.ts'

/** Loads the package `redis`, an optional peer. `user` names the caller in errors. */
export async function loadRedis(user: string): Promise<Pick<typeof redis, 'createClient'>> {
  try {
    // A bundled package has a default export only.
    return (await import('redis')).default
  } catch (error) {
    throw missingPeer(error, user, 'redis')
  }
}

/** Returns the error for an optional peer that is not installed; returns any other error unchanged. */
export function missingPeer(error: unknown, user: string, name: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') return error
  return new SessionError('invalid-config', `${user} needs the package ${name}; run: npm install ${name}`, { cause: error })
}
