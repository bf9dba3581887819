import type { Redis } from '@upstash/redis'
import { missingPeer } from '../redis/load-redis.ts'

/** Loads the package `@upstash/redis`, an optional peer. */
export async function loadUpstash(): Promise<typeof Redis> {
  try {
    return (await import('@upstash/redis')).Redis
  } catch (error) {
    throw missingPeer(error, 'kvStateStore', '@upstash/redis')
  }
}
