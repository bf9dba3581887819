import { configChecks } from '../arguments.ts'
import type { StateStore } from '../contract/state-store.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import { kvStateStore, kvVariables } from './kv/kv-state-store.ts'
import { prefixCheck } from './redis/keys.ts'
import { redisStateStore } from './redis/redis-state-store.ts'

export interface StateStoreFromEnvOptions {
  /** Variables. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Begins every key. Default `bowline`. */
  readonly prefix?: string
  /** Told about settings of a Redis server with which records can be lost. Default: a warning of the process. */
  readonly onWarning?: (message: string) => void
}

export interface ChosenStateStore {
  readonly kind: 'redis' | 'kv' | 'memory'
  readonly store: StateStore
  /** Names the variables that decided, never their values. */
  readonly because: string
}

const checkOptions = configChecks.optionalRecord<StateStoreFromEnvOptions>({
  environment: configChecks.checkObject,
  prefix: prefixCheck,
  onWarning: configChecks.checkFunction,
})

const redisVariable = 'REDIS_URL'

/**
 * Makes the state store that the variables of the environment name: Redis by `REDIS_URL`, else a KV service by
 * `KV_REST_API_URL` or `UPSTASH_REDIS_REST_URL` and its token, else memory. Throws if a variable that decides cannot be used: a
 * server that is meant is never replaced by memory.
 */
export async function stateStoreFromEnv(options: StateStoreFromEnvOptions = {}): Promise<ChosenStateStore> {
  checkOptions('stateStoreFromEnv.options', options)
  const { environment = process.env, prefix, onWarning } = options
  const given = { environment, ...(prefix !== undefined && { prefix }) }
  const setKv = kvVariables.flat().filter((name) => environment[name])
  if (environment[redisVariable]) {
    const unused = setKv.length === 0 ? '' : `; ${listed(setKv)} set too and not used`
    return { kind: 'redis', store: redisStateStore({ ...given, ...(onWarning && { onWarning }) }), because: `${redisVariable} is set${unused}` }
  }
  if (setKv.length > 0) return { kind: 'kv', store: kvStateStore(given), because: `${listed(setKv)} set, and ${redisVariable} is not` }
  const because = `none of ${[redisVariable, ...kvVariables.flat()].join(', ')} is set: records are lost with this process`
  return { kind: 'memory', store: memoryStateStore(), because }
}

function listed(names: readonly string[]): string {
  return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'}`
}
