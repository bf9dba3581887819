import { createRedaction, LlmError } from '@bowline/llm'
import { isFields, type ArgumentCheck, type FieldChecks } from '@bowline/llm/arguments'
import { parseRanges, sessionsVersionCheck, type AddressRange } from '@bowline/sessions/internal'
import { configChecks, longestTimerMs, methods, names, oneOf, optionalName, required, whole } from './arguments.ts'
import { startAuthFaults } from './auth/auth.ts'
import { checkAuth } from './auth/check-auth.ts'
import { defaultLimits, limitFaults } from './limits.ts'
import type { LogOptions } from './observe/log-observer.ts'
import { corsFaults, type AgentAccess, type CorsOptions, type RouteOptions, type ServerOptions } from './options.ts'
import { ServerError } from './server-error.ts'

const {
  checkBoolean,
  checkFields,
  checkFunction,
  checkItems,
  checkKeys,
  checkObject,
  checkOneOf,
  checkRequired,
  checkText,
  optional,
  record,
  requiredMethods,
  valuesOf,
} = configChecks

const access: FieldChecks<AgentAccess> = {
  description: checkText,
  capabilities: names,
  clientTools: oneOf('none', 'declared', 'any'),
  models: names,
  runtimeParams: (path, value) => checkItems(path, value, required(oneOf(...runtimeParams))),
  clientHistory: checkBoolean,
  clientOutput: checkBoolean,
  onBusy: (path, value) => checkItems(path, value, required(oneOf('queue', 'steer', 'interrupt', 'reject'))),
}

const runtimeParams = [
  ...['model', 'temperature', 'maxTokens', 'topP', 'topK', 'stopSequences', 'systemPrompt', 'reasoning', 'seed', 'providerSpecific'],
] as const

const routes: FieldChecks<RouteOptions> = { chat: checkBoolean, openapi: checkBoolean, metrics: checkBoolean, mcp: checkBoolean }

const cors: FieldChecks<CorsOptions> = {
  origins: required((path, value) => checkItems(path, value, checkOrigin)),
  credentials: checkBoolean,
}

const log: FieldChecks<LogOptions> = { content: checkBoolean }

const runtimeVersion = sessionsVersionCheck((message) => new ServerError('invalid-config', message))

const options: FieldChecks<ServerOptions> = {
  runtime: (path, value) => {
    runtimeVersion(path, value)
    requiredMethods('session', 'sessions', 'run', 'reader', 'stop')(path, value)
  },
  orchestration: methods('getState', 'allowedTools', 'removeState'),
  requests: methods('list', 'get'),
  auth: checkAuth,
  agents: valuesOf(record(access)),
  defaultAgent: optionalName,
  bridge: (path, value) => checkObject(path, value),
  mayUse: checkFunction,
  // `limitFaults` checks the values.
  limits: optional((path, value) => checkKeys(path, value, Object.keys(defaultLimits))),
  download: checkFunction,
  rateLimiter: checkFunction,
  cors: (path, value) => checkFields(path, value, cors),
  hosts: names,
  trustedProxies: names,
  routes: (path, value) => checkFields(path, value, routes),
  basePath: (path, value) => {
    const wanted = 'empty, or begin with a slash and not end with one'
    if (value !== undefined) checkRequired(path, value, wanted, (given) => typeof given === 'string' && /^(\/[\w.~-]+)*$/.test(given))
  },
  heartbeatMs: whole(1, longestTimerMs),
  clock: methods('now', 'setTimer'),
  ids: methods('next'),
  logger: methods('info', 'warn', 'error'),
  log: (path, value) => checkFields(path, value, log),
  metrics: methods('text'),
  redact: checkRedact,
  onAudit: checkFunction,
}

/**
 * Throws for the first unknown option, value of the wrong type, or agent that the runtime does not have, and then for all invalid
 * values. `more` holds options of a wrapper. Returns the trusted proxies.
 */
export function checkServerOptions(
  given: Omit<ServerOptions, 'download'>,
  more: Readonly<Record<string, ArgumentCheck>> = {},
): readonly AddressRange[] {
  checkRequired('options', given, 'an object', isFields)
  checkFields('options', given, { ...options, ...more })
  const { runtime, agents = {}, defaultAgent, auth, cors, trustedProxies = [] } = given
  const known = runtime.agents.flatMap(({ name }) => name ?? [])
  checkOneOf('defaultAgent', defaultAgent, known)
  const unknown = Object.keys(agents).find((name) => !known.includes(name))
  if (unknown !== undefined) checkFields('agents', { [unknown]: {} }, Object.fromEntries(known.map((name) => [name, checkObject])))
  const { ranges, faults } = parseRanges(trustedProxies, (place) => `trustedProxies[${place}]`)
  const all = [...startAuthFaults(auth), ...corsFaults(cors, auth === 'none'), ...limitFaults(given.limits), ...faults]
  if (all.length > 0) throw new ServerError('invalid-config', all.join('; '))
  return ranges
}

function checkOrigin(path: string, value: unknown): void {
  const isOrigin = (given: unknown): boolean =>
    typeof given === 'string' && (given === '*' || /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\sA-Z]+$/.test(given))
  checkRequired(path, value, 'an origin such as https://app.example, without a path, or "*"', isOrigin)
}

function checkRedact(path: string, value: unknown): void {
  if (value === undefined) return
  try {
    createRedaction(value as object)
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    const named = error.message.replace('createRedaction.config', path)
    throw new ServerError('invalid-config', named === error.message ? `${path}.${named}` : named)
  }
}
