import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import type { OpenableStateStore } from '@bowline/sessions'
import { configChecks, prefixCheck, SessionError, warnProcess } from '@bowline/sessions/store-parts'
import { ServerCheck } from './check-server.ts'
import type { RedisClient } from './client.ts'
import { GivenClient } from './given-client.ts'
import { OwnClient } from './own-client.ts'
import { RedisServer } from './redis-server.ts'
import { scriptStateStore } from './script-state-store.ts'

/** Server or client, key prefix and limits of a Redis state store. Values default to the environment. */
export interface RedisStateStoreOptions {
  /** `redis://` or, with TLS, `rediss://`. Default: the variable `REDIS_URL`. */
  readonly url?: string
  /** Client or cluster of the package `redis`, instead of a URL. The store connects it if needed, and never closes it. */
  readonly client?: RedisClient
  /** Prefix of every key. Stores with different prefixes can share a server. Default `bowline`. */
  readonly prefix?: string
  /** Largest value in bytes. A larger one is refused with `entry-too-large`. Default 16 MiB. */
  readonly maxRecordBytes?: number
  /** Timeout of one request in ms, including the wait for a connection. Default 5,000. */
  readonly timeoutMs?: number
  /** Called with settings of the server that can lose records. Default: a process warning. */
  readonly onWarning?: (message: string) => void
  /** For tests: clock instead of the server's. */
  readonly clock?: Clock
  /** Environment variables. Default: `process.env`. */
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
  if (client && options.url !== undefined)
    throw new SessionError('invalid-config', 'redisStateStore.options has both url and client: give one of them.')
  return scriptStateStore({
    server: new RedisServer({ source, clock, timeoutMs }),
    prefix,
    maxRecordBytes,
    ...(options.clock && { now: () => clock.now() }),
  })
}

/** Returns the URL. Errors never show it, since it may contain a password. */
function urlOf({ url, environment = process.env }: RedisStateStoreOptions): string {
  const found = url ?? environment['REDIS_URL']
  if (found === undefined || found === '') {
    throw new SessionError('invalid-config', 'redisStateStore needs a server: give it url or client, or set the variable REDIS_URL.')
  }
  if (URL.canParse(found) && ['redis:', 'rediss:'].includes(new URL(found).protocol)) return found
  throw new SessionError(
    'invalid-config',
    `${url === undefined ? 'The variable REDIS_URL' : 'url'} must be redis://host:port or rediss://host:port.`,
  )
}
