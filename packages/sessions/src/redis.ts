export { redisStateStore } from './stores/redis/redis-state-store.ts'
export type { RedisStateStoreOptions } from './stores/redis/redis-state-store.ts'
export type { RedisClient, ScriptArguments } from './stores/redis/client.ts'
