import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { configChecks } from '../../arguments.ts'
import type { OpenableStateStore } from '../../contract/state-store.ts'
import { SessionError, warnProcess } from '../../errors.ts'
import { ServerCheck } from './check-server.ts'
import type { RedisClient } from './client.ts'
import { GivenClient } from './given-client.ts'
import { OwnClient } from './own-client.ts'
import { prefixCheck } from './keys.ts'
import { RedisServer } from './redis-server.ts'
import { scriptStateStore } from './script-state-store.ts'

/** Server or client, key prefix and limits of a Redis state store. Values default to the environment. */
export interface RedisStateStoreOptions {
  /** `redis://` or, with TLS, `rediss://`. Default: the variable `REDIS_URL`. */
  readonly url?: string
  /** A client or cluster of the package `redis`, in place of a URL. The store connects it if it is not open, and never closes it. */
  readonly client?: RedisClient
  /** Begins every key: stores with different ones share a server. Default `bowline`. */
  readonly prefix?: string
  /** Larger values are refused with `entry-too-large`. Default 16 MiB. */
  readonly maxRecordBytes?: number
  /** How long one request may take, its wait for a connection included. Default 5,000. */
  readonly timeoutMs?: number
  /** Told about settings of the server with which records can be lost. Default: a warning of the process. */
  readonly onWarning?: (message: string) => void
  /** For tests: replaces the time of the server. */
  readonly clock?: Clock
  /** Environment variables. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const checkOptions = configChecks.optionalRecord<RedisStateStoreOptions>({
  url: configChecks.optionalName,
  client: configChecks.methods('connect', 'evalSha', 'eval', 'on'),
  prefix: prefixCheck,
  maxRecordBytes: configChecks.whole(1),
  timeoutMs: configChecks.whole(1),
  onWarning: configChecks.checkFunction,
  clock: configChecks.methods('now', 'setTimer'),
  environment: configChecks.checkObject,
})

/**
 * Creates a state store on a Redis server or cluster, for many processes. The first call connects, or `open()` does. Throws
 * `invalid-config`.
 */
export function redisStateStore(options: RedisStateStoreOptions = {}): OpenableStateStore {
  checkOptions('redisStateStore.options', options)
  const { client, prefix = 'bowline', maxRecordBytes = 16 * 1024 * 1024, timeoutMs = 5_000, onWarning = warnProcess } = options
  const clock = options.clock ?? systemClock
  const check = new ServerCheck((message) => onWarning(message))
  const source = client ? new GivenClient({ client, clock, check }) : new OwnClient({ url: urlOf(options), timeoutMs, clock, check })
  if (client && options.url !== undefined) throw new SessionError('invalid-config', 'redisStateStore.options has both url and client: give one of them.')
  return scriptStateStore({
    ...{ server: new RedisServer({ source, clock, timeoutMs }), prefix, maxRecordBytes },
    ...(options.clock && { now: () => clock.now() }),
  })
}

/** A URL may hold a password: no error shows it. */
function urlOf({ url, environment = process.env }: RedisStateStoreOptions): string {
  const found = url ?? environment['REDIS_URL']
  if (found === undefined || found === '') {
    throw new SessionError('invalid-config', 'redisStateStore needs a server: give it url or client, or set the variable REDIS_URL.')
  }
  if (URL.canParse(found) && ['redis:', 'rediss:'].includes(new URL(found).protocol)) return found
  throw new SessionError('invalid-config', `${url === undefined ? 'The variable REDIS_URL' : 'url'} must be redis://host:port or rediss://host:port.`)
}
