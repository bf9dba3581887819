import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { configChecks } from '../../arguments.ts'
import type { OpenableStateStore } from '../../contract/state-store.ts'
import { SessionError } from '../../errors.ts'
import { prefixCheck } from '../redis/keys.ts'
import { scriptStateStore } from '../redis/script-state-store.ts'
import { KvRequests } from './kv-requests.ts'
import { KvServer } from './kv-server.ts'

/** Address, credentials and limits of a KV service. Values default to the environment. */
export interface KvStateStoreOptions {
  /** `https://`, of the REST interface. Default: the variable `KV_REST_API_URL` or `UPSTASH_REDIS_REST_URL`. */
  readonly url?: string
  /** Default: the variable `KV_REST_API_TOKEN` or `UPSTASH_REDIS_REST_TOKEN`. */
  readonly token?: string
  /** Begins every key: stores with different ones share a database. Default `bowline`. */
  readonly prefix?: string
  /** The limit of the service. A larger request is refused with `entry-too-large` and not sent. Default 10,000,000. */
  readonly maxRequestBytes?: number
  /** How long one request may take. Default 5,000. */
  readonly timeoutMs?: number
  /** How long a request may wait in all because the service is busy. Default 10,000. */
  readonly maxWaitMs?: number
  /** Makes the requests. Default: the global one. */
  readonly fetch?: typeof fetch
  /** For tests: time of waits, and of records instead of the service's time. */
  readonly clock?: Clock
  /** Environment variables. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const checkOptions = configChecks.optionalRecord<KvStateStoreOptions>({
  url: configChecks.optionalName,
  token: configChecks.optionalName,
  prefix: prefixCheck,
  maxRequestBytes: configChecks.whole(1),
  timeoutMs: configChecks.whole(1),
  maxWaitMs: configChecks.whole(0),
  fetch: configChecks.checkFunction,
  clock: configChecks.methods('now', 'setTimer'),
  environment: configChecks.checkObject,
})

/** Variables that belong together, the preferred ones first. */
export const kvVariables = [
  ['KV_REST_API_URL', 'KV_REST_API_TOKEN'],
  ['UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN'],
] as const

/** Creates a state store on Vercel KV or Upstash Redis over HTTP, for many processes. Throws `invalid-config`. */
export function kvStateStore(options: KvStateStoreOptions = {}): OpenableStateStore {
  checkOptions('kvStateStore.options', options)
  const { prefix = 'bowline', maxRequestBytes = 10_000_000, timeoutMs = 5_000, maxWaitMs = 10_000, fetch: send = fetch } = options
  const clock = options.clock ?? systemClock
  const requests = new KvRequests({ ...accessOf(options), clock, timeoutMs, maxWaitMs, fetch: send })
  return scriptStateStore({
    ...{ server: new KvServer({ requests, maxRequestBytes }), prefix, maxRecordBytes: maxRequestBytes },
    ...(options.clock && { now: () => clock.now() }),
  })
}

interface Access {
  readonly url: string
  readonly token: string
}

/** Both from the options, or both from variables that belong together. */
function accessOf({ url, token, environment = process.env }: KvStateStoreOptions): Access {
  if (url !== undefined || token !== undefined) return access('url', url, 'token', token)
  const [urlName, tokenName] = kvVariables.find((names) => names.some((name) => environment[name])) ?? kvVariables[0]
  return access(`the variable ${urlName}`, environment[urlName], `the variable ${tokenName}`, environment[tokenName])
}

/** The token is a secret, and a URL may hold one: no error shows them. */
function access(urlName: string, url: string | undefined, tokenName: string, token: string | undefined): Access {
  const missing = [...(url ? [] : [urlName]), ...(token ? [] : [tokenName])]
  if (!url || !token) throw new SessionError('invalid-config', `kvStateStore needs ${missing.join(' and ')}.`)
  if (!isRestUrl(url)) throw new SessionError('invalid-config', `${urlName} must be https://host without a user, a query or a fragment.`)
  if (/\s/.test(token)) throw new SessionError('invalid-config', `${tokenName} must have no spaces or line breaks.`)
  return { url, token }
}

function isRestUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  return ['https:', 'http:'].includes(protocol) && username + password + search + hash === ''
}
