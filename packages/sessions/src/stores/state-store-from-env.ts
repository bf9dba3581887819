import { configChecks } from '../arguments.ts'
import type { StateStore } from '../contract/state-store.ts'
import { missingPeer } from '../errors.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import { databaseVariable, kvVariables, prefixCheck } from './state-environment.ts'

/** Environment, key prefix and warnings of `stateStoreFromEnv`. */
export interface StateStoreFromEnvOptions {
  /** Environment variables. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Prefix of every key; on Postgres the namespace. Default `bowline`, on Postgres `default`. */
  readonly prefix?: string
  /** Called with settings of the server that can lose records. Default: a process warning. */
  readonly onWarning?: (message: string) => void
}

/** The created state store, with its kind and the names of the deciding variables. */
export interface ChosenStateStore {
  readonly kind: 'redis' | 'kv' | 'postgres' | 'memory'
  readonly store: StateStore
  /** Names of the deciding variables, without their values. */
  readonly because: string
}

const checkOptions = configChecks.optionalRecord<StateStoreFromEnvOptions>({
  environment: configChecks.checkObject,
  prefix: prefixCheck,
  onWarning: configChecks.checkFunction,
})

const redisVariable = 'REDIS_URL'

/**
 * Creates the state store that the environment names: Redis by `REDIS_URL`, else a KV service by `KV_REST_API_URL` or
 * `UPSTASH_REDIS_REST_URL` and its token, else Postgres by `DATABASE_URL`, else memory. Throws if a set variable cannot be
 * used, or if the package of the store is not installed; it never falls back to memory then.
 */
export async function stateStoreFromEnv(options: StateStoreFromEnvOptions = {}): Promise<ChosenStateStore> {
  checkOptions('stateStoreFromEnv.options', options)
  const { environment = process.env, prefix, onWarning } = options
  const named = prefix === undefined ? {} : { prefix }
  const warned = onWarning ? { onWarning } : {}
  const isSet = (name: string): boolean => Boolean(environment[name])
  const setKv = kvVariables.flat().filter(isSet)
  const setPostgres = [databaseVariable].filter(isSet)
  if (isSet(redisVariable)) {
    const { redisStateStore } = await import('@bowline/redis').catch(missingPeer('stateStoreFromEnv', '@bowline/redis'))
    return {
      kind: 'redis',
      store: redisStateStore({ environment, ...named, ...warned }),
      because: `${redisVariable} is set${unused(...setKv, ...setPostgres)}`,
    }
  }
  if (setKv.length > 0) {
    const { kvStateStore } = await import('@bowline/redis/kv').catch(missingPeer('stateStoreFromEnv', '@bowline/redis'))
    return {
      kind: 'kv',
      store: kvStateStore({ environment, ...named }),
      because: `${listed(setKv)} set, and ${redisVariable} is not${unused(...setPostgres)}`,
    }
  }
  if (setPostgres.length > 0) {
    const { postgresStateStore } = await import('@bowline/postgres').catch(missingPeer('stateStoreFromEnv', '@bowline/postgres'))
    const store = postgresStateStore({ environment, ...(prefix !== undefined && { namespace: prefix }), ...warned })
    return {
      kind: 'postgres',
      store,
      because: `${databaseVariable} is set, and none of ${[redisVariable, ...kvVariables.flat()].join(', ')} is`,
    }
  }
  const because = `none of ${[redisVariable, ...kvVariables.flat(), databaseVariable].join(', ')} is set: records are lost with this process`
  return { kind: 'memory', store: memoryStateStore(), because }
}

function unused(...names: readonly string[]): string {
  return names.length === 0 ? '' : `; ${listed(names)} set too and not used`
}

function listed(names: readonly string[]): string {
  return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'}`
}
