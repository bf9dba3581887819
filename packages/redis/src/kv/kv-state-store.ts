import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import type { OpenableStateStore } from '@bowline/sessions'
import { configChecks, kvVariables, prefixCheck, SessionError } from '@bowline/sessions/store-parts'
import { scriptStateStore } from '../redis/script-state-store.ts'
import { KvRequests } from './kv-requests.ts'
import { KvServer } from './kv-server.ts'

/** Address, credentials and limits of a KV service. Values default to the environment. */
export interface KvStateStoreOptions {
  /** URL of the REST interface, with `https://`. Default: the variable `KV_REST_API_URL` or `UPSTASH_REDIS_REST_URL`. */
  readonly url?: string
  /** Access token. Default: the variable `KV_REST_API_TOKEN` or `UPSTASH_REDIS_REST_TOKEN`. */
  readonly token?: string
  /** Prefix of every key. Stores with different prefixes can share a database. Default `bowline`. */
  readonly prefix?: string
  /** Largest request in bytes. A larger one is not sent and rejects with `entry-too-large`. Default 10,000,000. */
  readonly maxRequestBytes?: number
  /** Timeout of one request in ms. Default 5,000. */
  readonly timeoutMs?: number
  /** Longest total wait of a request for a busy service, in ms. Default 10,000. */
  readonly maxWaitMs?: number
  /** Function that makes the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** For tests: clock of the waits. If given, it also replaces the service's time in records. */
  readonly clock?: Clock
  /** Environment variables. Default: `process.env`. */
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

/** Creates a state store on Vercel KV or Upstash Redis over HTTP, for many processes. Throws `invalid-config`. */
export function kvStateStore(options: KvStateStoreOptions = {}): OpenableStateStore {
  checkOptions('kvStateStore.options', options)
  const { prefix = 'bowline', maxRequestBytes = 10_000_000, timeoutMs = 5_000, maxWaitMs = 10_000, fetch: send = fetch } = options
  const clock = options.clock ?? systemClock
  const requests = new KvRequests({ ...accessOf(options), clock, timeoutMs, maxWaitMs, fetch: send })
  return scriptStateStore({
    server: new KvServer({ requests, maxRequestBytes }),
    prefix,
    maxRecordBytes: maxRequestBytes,
    ...(options.clock && { now: () => clock.now() }),
  })
}

interface Access {
  readonly url: string
  readonly token: string
}

/** Takes both values from the options, or both from one pair of variables. */
function accessOf({ url, token, environment = process.env }: KvStateStoreOptions): Access {
  if (url !== undefined || token !== undefined) return access('url', url, 'token', token)
  const [urlName, tokenName] = kvVariables.find((names) => names.some((name) => environment[name])) ?? kvVariables[0]
  return access(`the variable ${urlName}`, environment[urlName], `the variable ${tokenName}`, environment[tokenName])
}

/** Checks URL and token. Errors show neither: the token is a secret, and a URL may contain one. */
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
