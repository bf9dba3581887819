import { z } from 'zod'
import { parseRanges } from '@bowline/sessions/internal'
import { defaultLimits } from '../limits.ts'
import { defaultDrainMs, defaultHeartbeatMs } from '../options.ts'
import { bytes, integer, list, milliseconds, oneOf, text, toggle, type Setting } from './setting.ts'
import type { ServerConfig } from './server-config.ts'
import { parseStore } from './store-choice.ts'

type DottedKeys<Config> = {
  [Key in keyof Config & string]-?: NonNullable<Config[Key]> extends string | number | boolean | readonly unknown[]
    ? Key
    : `${Key}.${keyof NonNullable<Config[Key]> & string}`
}[keyof Config & string]

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const placements = ['own', 'restate'] as const
const maxPort = 65_535
const longestTtlMs = 3_650 * 86_400_000
const storeSchema = z.string('must be a text').superRefine((value, context) => {
  const store = parseStore(value, '.')
  if (store.kind === 'invalid') context.addIssue(store.fault)
})
const postgresSchema = z.string('must be a text').superRefine((value, context) => {
  const store = parseStore(value, '.')
  if (store.kind !== 'postgres') context.addIssue('must be an address of a Postgres server: postgres://<user>@<host>/<database>')
})
const urlSchema = z.url({ protocol: /^https?$/, error: 'must be a URL with http or https' })
const basePathSchema = z.string('must be a text').regex(/^(\/[\w.~-]+)*$/, 'must be empty or begin with a slash and not end with one')

/** All keys. Flags, variables, help and file check are derived from this table. */
export const settings = {
  agents: text({ group: 'What is served', about: 'Module whose exports are the agents', default: undefined }, 'FILE'),
  defaultAgent: text({ group: 'What is served', about: 'Agent of new sessions that name none', default: undefined }, 'NAME'),
  store: text(
    { group: 'What is served', about: 'sqlite:FILE, file:FOLDER, postgres://… or memory:', default: 'sqlite:./.bowline/data.db' },
    'STORE',
    storeSchema,
  ),
  directConnectionString: text(
    { group: 'What is served', about: 'The same Postgres past a pooler in transaction mode', default: undefined },
    'ADDRESS',
    postgresSchema,
  ),
  placement: oneOf(
    placements,
    { group: 'Who works', about: 'own: the servers on one store; restate: Restate moves the sessions', default: 'own' },
    'ENGINE',
  ),
  'restate.url': text({ group: 'Who works', about: 'Ingress of Restate', default: 'http://127.0.0.1:8080' }, 'URL', urlSchema),
  'restate.name': text({ group: 'Who works', about: 'Name of the virtual object', default: 'sessions' }, 'NAME'),
  'restate.host': text({ group: 'Who works', about: 'Address to listen on for Restate', default: '127.0.0.1' }, 'ADDRESS'),
  'restate.port': integer({ group: 'Who works', about: 'Port for Restate; 0 takes a free one', default: 9080 }, { min: 0, max: maxPort }),
  'restate.turnMs': milliseconds({ group: 'Who works', about: 'A longer run goes on in another invocation', default: 50_000 }),
  'restate.frozenAfterMs': milliseconds({
    group: 'Who works',
    about: 'Silence after which Restate gives up a server',
    default: 30_000,
  }),
  'routes.openapi': toggle({ group: 'What is served', about: 'Serve /openapi.json', default: true }),
  'routes.chat': toggle({ group: 'What is served', about: 'Serve /api/chat', default: true }),
  'routes.mcp': toggle({ group: 'What is served', about: 'Serve /mcp, where there is a bridge', default: true }),
  'routes.metrics': toggle({ group: 'What is served', about: 'Serve /metrics', default: true }),
  host: text({ group: 'Where', about: 'Address to listen on', default: '127.0.0.1' }, 'ADDRESS'),
  port: integer({ group: 'Where', about: 'Port; 0 takes a free one', default: 8787 }, { min: 0, max: maxPort }),
  basePath: text({ group: 'Where', about: 'In front of every route', default: '' }, 'PATH', basePathSchema),
  drainMs: milliseconds({ group: 'Where', about: 'What open streams have to finish at the end', default: defaultDrainMs }, { min: 0 }),
  auth: text(
    { group: 'Who may call', about: 'none: every caller on this machine. Tokens and JWT are set in the file', default: undefined },
    'none',
    z.literal('none', 'can only be none here: tokens and JWT are set in the file'),
  ),
  hosts: list({ group: 'Who may call', about: 'Names of this server besides its address', default: [] }, 'NAME'),
  trustedProxies: list(
    { group: 'Who may call', about: 'Proxies whose X-Forwarded-* headers are believed', default: [] },
    'RANGE',
    (ranges) => parseRanges(ranges, () => 'the list').faults,
  ),
  'cors.origins': list({ group: 'Who may call', about: 'Other origins whose pages may call', default: [] }, 'ORIGIN'),
  'cors.credentials': toggle({ group: 'Who may call', about: 'Their pages may send cookies', default: false }),
  ...limitSettings(),
  heartbeatMs: milliseconds({ group: 'Streams', about: 'Silence after which a stream gets a comment', default: defaultHeartbeatMs }),
  ...recordSettings(),
  'log.level': oneOf(logLevels, { group: 'Log', about: `One of ${logLevels.join(', ')}`, default: 'info' }, 'LEVEL'),
  'log.content': toggle({ group: 'Log', about: 'Messages may be logged too', default: false }),
} as const satisfies Readonly<
  Record<DottedKeys<Omit<ServerConfig, 'access' | 'auth' | 'bridge' | 'redact' | 'notify' | 'webhooks'>> | 'auth', Setting>
>

export type SettingKey = keyof typeof settings

export type SettingValues = {
  readonly [Key in SettingKey]: (typeof settings)[Key] extends Setting<infer Value, infer Default> ? Value | Default : never
}

export const settingKeys = Object.keys(settings) as readonly SettingKey[]

/** Returns the flag of a key: `--limits.body-bytes` for `limits.bodyBytes`. */
export function flagOf(key: SettingKey): string {
  return `--${flagName(key)}`
}

export function flagName(key: SettingKey): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Returns the variable of a key: `BOWLINE_LIMITS_BODY_BYTES` for `limits.bodyBytes`. */
export function variableOf(key: SettingKey): string {
  return `BOWLINE_${flagName(key).replaceAll(/[.-]/g, '_').toUpperCase()}`
}

/** Splits a key: `limits.bodyBytes` is `bodyBytes` of the section `limits`. */
export function splitKey(key: SettingKey): readonly [section: string | undefined, name: string] {
  const [first = '', second] = key.split('.')
  return second === undefined ? [undefined, first] : [first, second]
}

function recordSettings() {
  const group = 'Recorded requests'
  return {
    'requests.record': toggle({ group, about: 'Keep what models are sent, prompts included, for the scope requests:read', default: false }),
    'requests.maxRequests': integer({ group, about: 'Kept of a session; the oldest go first', default: 200 }, { min: 2 }),
    'requests.maxBytes': bytes({ group, about: 'The same in bytes', default: 4 * 1_024 * 1_024 }, { min: 16 * 1_024 }),
    'requests.ttlMs': milliseconds({ group, about: 'Gone at the latest after', default: 30 * 86_400_000 }, { max: longestTtlMs }),
  } as const
}

function limitSettings() {
  const request = 'Limits of a request'
  const caller = 'Limits of a caller'
  const limit = defaultLimits
  return {
    'limits.bodyBytes': bytes({ group: request, about: 'Longest body', default: limit.bodyBytes }),
    'limits.jsonDepth': integer({ group: request, about: 'Depth of a body', default: limit.jsonDepth }),
    'limits.jsonKeys': integer({ group: request, about: 'Keys in a body', default: limit.jsonKeys }),
    'limits.headerBytes': bytes({ group: request, about: 'All headers with the address', default: limit.headerBytes }),
    'limits.headersTimeoutMs': milliseconds({ group: request, about: 'Time for the headers', default: limit.headersTimeoutMs }),
    'limits.bodyTimeoutMs': milliseconds({ group: request, about: 'Time for a request with its body', default: limit.bodyTimeoutMs }),
    'limits.requestsPerMinute': integer({ group: caller, about: 'Requests of a principal', default: limit.requestsPerMinute }),
    'limits.workPerMinute': integer({ group: caller, about: 'Requests of a principal that start work', default: limit.workPerMinute }),
    'limits.authFailuresPerMinute': integer({
      group: caller,
      about: 'Failed logins of an address',
      default: limit.authFailuresPerMinute,
    }),
    'limits.runsPerTenant': integer({ group: caller, about: 'Runs of a tenant at once', default: limit.runsPerTenant }),
    'limits.queuedRunsPerSession': integer(
      { group: caller, about: 'Inputs that wait in a session', default: limit.queuedRunsPerSession },
      { min: 0 },
    ),
    'limits.streams': integer({ group: 'Streams', about: 'Open streams of the process', default: limit.streams }),
    'limits.streamsPerPrincipal': integer({ group: 'Streams', about: 'Of a principal', default: limit.streamsPerPrincipal }),
    'limits.streamsPerSession': integer({ group: 'Streams', about: 'Of a session', default: limit.streamsPerSession }),
    'limits.streamBufferBytes': bytes({ group: 'Streams', about: 'Held for a reader that is behind', default: limit.streamBufferBytes }),
    'limits.slowReaderMs': milliseconds({ group: 'Streams', about: 'A reader may take nothing for', default: limit.slowReaderMs }),
    'limits.streamMaxAgeMs': milliseconds({ group: 'Streams', about: 'A reader has to come back after', default: limit.streamMaxAgeMs }),
  } as const
}
