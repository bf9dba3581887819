import type * as redis from 'redis'
import { missingPeer } from '@bowline/sessions/store-parts'

/** Loads the package `redis`, an optional peer. `user` names the caller in errors. */
export async function loadRedis(user: string): Promise<Pick<typeof redis, 'createClient'>> {
  // A bundled package has a default export only.
  return (await import('redis').catch(missingPeer(user, 'redis'))).default
}
