import type * as redis from 'redis'
import { SessionError } from '../../errors.ts'

/** Loads the package `redis`, an optional peer. `user` is what needs it. */
export async function loadRedis(user: string): Promise<Pick<typeof redis, 'createClient'>> {
  try {
    // Where the package is bundled there is nothing but its default export.
    return (await import('redis')).default
  } catch (error) {
    throw missingPeer(error, user, 'redis')
  }
}

/** For an optional peer that is not installed; any other error is returned as it is. */
export function missingPeer(error: unknown, user: string, name: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') return error
  return new SessionError('invalid-config', `${user} needs the package ${name}: npm install ${name}`, { cause: error })
}
