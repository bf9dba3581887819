export { redisStateStore } from './redis/redis-state-store.ts'
export type { RedisStateStoreOptions } from './redis/redis-state-store.ts'
export type { RedisClient, ScriptArguments } from './redis/client.ts'
