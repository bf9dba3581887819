import { agentVersionCheck } from '@bowline/agent-loop/internal'
import { needed, type ArgumentCheck } from '@bowline/llm/arguments'
import { checkStoreVersion, configChecks, inputChecks, listOfNames, longestMs, refusedConfig, sentence } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { checkKey, checkNamespace } from '../keys.ts'
import { checkTtl } from '../commands/settings.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateStore } from '../contract/state-store.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import { checkMaxCost, type TenantBudgetOptions } from './tenant-budgets.ts'
import { protocolsOf, webhookFields } from '../commands/webhook.ts'
import { sessionHook } from '../contract/notices.ts'
import type { Webhook } from '../contract/records.ts'
import { parseRanges } from '../net/addresses.ts'
import type {
  DrainOptions,
  Retention,
  RuntimeOptions,
  RuntimeWebhook,
  SessionOptions,
  StartOptions,
  WebhookOptions,
  WorkOptions,
} from './types.ts'
import type { ImportOptions } from '../commands/tree/types.ts'

const defaultHook = 'default'

type Nested<Name extends 'lease' | 'attempts' | 'background'> = Exclude<NonNullable<RuntimeOptions[Name]>, false>

const isAgent = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['run', 'compact', 'fingerprint'].every((name) => typeof Reflect.get(value, name) === 'function')

const agentVersion = agentVersionCheck(refusedConfig)

const agents: ArgumentCheck = (path, value) => {
  configChecks.checkRequired(path, value, 'a list with at least one agent', (given) => Array.isArray(given) && given.length > 0)
  configChecks.listOf((place, agent) => {
    agentVersion(place, agent)
    configChecks.checkRequired(place, agent, 'an agent made by defineAgent', isAgent)
  })(path, value)
}

/** Reads only the version and the description of the store, because creating a runtime does no I/O. */
const store = configChecks.optional((path, value) => {
  checkStoreVersion(path, value)
  const { name, capabilities } = (typeof value === 'object' ? (value ?? {}) : {}) as Partial<SessionStore>
  if (typeof name !== 'string' || typeof capabilities !== 'object') configChecks.checkRequired(path, value, 'a session store', () => false)
})

const background = configChecks.optionalRecord<Nested<'background'>>({
  maxActive: configChecks.whole(0),
  maxRetained: configChecks.whole(0),
  maxDepth: configChecks.whole(0),
})

const onDefinitionChange: ArgumentCheck = (path, value) => {
  if (typeof value !== 'function') configChecks.checkOneOf(path, value, ['continue', 'pin', 'refuse'])
}

const tenantBudget = configChecks.optionalRecord<TenantBudgetOptions>({
  maxCost: (path, value) => {
    if (typeof value !== 'function') checkMaxCost(path, needed(value))
  },
  window: (path, value) => {
    if (value !== 'day') configChecks.checkRequired(path, value, "'day' or a whole number of milliseconds", isLength)
  },
  currency: configChecks.optionalName,
  store: (path, value) => {
    if (value !== undefined) stateStoreOf(value as StateStore, path)
  },
  tenantOf: configChecks.checkFunction,
  leaseMs: configChecks.whole(1, longestMs),
})

const isLength = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= longestMs

/** `checkWebhooks` checks it. */
const checkedAfterwards: ArgumentCheck = () => undefined

function checkRanges(path: string, value: unknown): void {
  configChecks.listOf(configChecks.checkName)(path, value)
  const { faults } = parseRanges((value ?? []) as readonly string[], (place) => `${path}[${place}]`)
  if (faults.length > 0) throw new SessionError('invalid-config', sentence(faults.join('; ')))
}

const hookName = /^[a-z0-9][a-z0-9_-]{0,62}$/

function checkWebhooks(path: string, { notify, webhooks }: RuntimeOptions): void {
  const name: ArgumentCheck = (place, value) =>
    configChecks.checkRequired(place, value, `a name that matches ${hookName.source} and is not ${sessionHook}`, isHookName)
  const check = configChecks.optionalRecord<RuntimeWebhook>({
    ...webhookFields(configChecks, protocolsOf(webhooks?.http)),
    name: configChecks.optional(name),
  })
  if (!Array.isArray(notify)) return check(path, notify)
  const names = new Set<unknown>()
  for (const [place, webhook] of (notify as readonly RuntimeWebhook[]).entries()) {
    configChecks.checkRequired(`${path}[${place}]`, webhook, 'a webhook, { url, events, secret }', (given) => given !== undefined)
    check(`${path}[${place}]`, webhook)
    const { name = defaultHook } = webhook
    if (names.has(name))
      throw new SessionError(
        'invalid-config',
        `${path}[${place}].name is used twice: ${JSON.stringify(name)}. Give each webhook a name of its own.`,
      )
    names.add(name)
  }
}

function isHookName(value: unknown): boolean {
  return typeof value === 'string' && hookName.test(value) && value !== sessionHook
}

/** Returns the webhooks by name. */
export function webhooksOf({ notify = [] }: RuntimeOptions): ReadonlyMap<string, Webhook> {
  const list = Array.isArray(notify) ? (notify as readonly RuntimeWebhook[]) : [notify as RuntimeWebhook]
  return new Map(list.map(({ name = defaultHook, ...webhook }) => [name, structuredClone(webhook)]))
}

const runtimeOptions = configChecks.record<RuntimeOptions>({
  agents,
  store,
  namespace: configChecks.optional((_path, value) => checkNamespace(value as string)),
  concurrency: configChecks.whole(0),
  maxRunsPerTenant: configChecks.whole(1),
  tenantBudget,
  onBusy: configChecks.oneOf('queue', 'steer', 'interrupt', 'reject'),
  durability: configChecks.oneOf('boundary', 'turn'),
  onDefinitionChange,
  onUnknownOutcome: configChecks.oneOf('stop', 'tell-model'),
  onFailedTurn: configChecks.oneOf('keep', 'rewind'),
  lease: configChecks.optionalRecord<Nested<'lease'>>({
    ttlMs: configChecks.whole(1, longestMs),
    heartbeatMs: configChecks.whole(1, longestMs),
  }),
  attempts: configChecks.optionalRecord<Nested<'attempts'>>({ withoutProgress: configChecks.whole(0), total: configChecks.whole(0) }),
  background: (path, value) => {
    if (value !== false) background(path, value)
  },
  ttl: checkTtl,
  retention: configChecks.optionalRecord<Retention>({
    runsMs: configChecks.whole(0, longestMs),
    expiredMs: configChecks.whole(0, longestMs),
  }),
  notify: checkedAfterwards,
  requests: configChecks.methods('remove'),
  webhooks: configChecks.optionalRecord<WebhookOptions>({
    http: configChecks.checkBoolean,
    resolve: configChecks.checkFunction,
    ca: configChecks.listOf(configChecks.checkName),
    random: configChecks.checkFunction,
    allow: checkRanges,
  }),
  autoStart: configChecks.checkBoolean,
  timers: configChecks.checkBoolean,
  placement: configChecks.oneOf('own', 'host'),
  onWake: configChecks.checkFunction,
  aroundRun: configChecks.checkFunction,
  clock: configChecks.methods('now', 'setTimer'),
  ids: configChecks.methods('next'),
  onError: configChecks.checkFunction,
})

/** Checks all options. Throws `invalid-config`. */
export function checkRuntimeOptions(given: RuntimeOptions): void {
  runtimeOptions('createRuntime.options', given)
  checkWebhooks('notify', given)
}

const checkedLater: ArgumentCheck = () => undefined

/** Settings, metadata and history are checked when they are copied. */
export const checkSessionOptions = inputChecks.optionalRecord<SessionOptions>({
  ttl: checkedLater,
  runtimeParams: checkedLater,
  channel: checkedLater,
  remoteTools: checkedLater,
  metadata: checkedLater,
  notify: checkedLater,
  agent: inputChecks.optionalName,
  owner: inputChecks.optionalName,
  history: inputChecks.checkList,
})

/** Checks the URL of a session's webhook against the protocols that the runtime allows. */
export function checkSessionWebhook({ notify }: SessionOptions, { webhooks }: RuntimeOptions): void {
  inputChecks.optionalRecord(webhookFields(inputChecks, protocolsOf(webhooks?.http)))('notify', notify)
}

export const checkReaderOptions = inputChecks.optionalRecord<Pick<SessionOptions, 'owner'>>({ owner: inputChecks.optionalName })

export const checkStartOptions = inputChecks.optionalRecord<StartOptions>({ keepAlive: inputChecks.checkBoolean })

export const checkStopOptions = inputChecks.optionalRecord<{ readonly graceMs?: number }>({ graceMs: inputChecks.whole(0, longestMs) })

export const checkDrainOptions = inputChecks.optionalRecord<DrainOptions>({
  untilMs: inputChecks.whole(0, longestMs),
  maxRuns: inputChecks.whole(0),
  abortSignal: inputChecks.checkSignal,
})

export const checkWorkOptions = inputChecks.optionalRecord<WorkOptions>({
  untilMs: inputChecks.whole(0, longestMs),
  abortSignal: inputChecks.checkSignal,
  takeOver: inputChecks.checkBoolean,
})

const importOptions = inputChecks.optionalRecord<ImportOptions>({
  key: inputChecks.optional((path, value) => checkKey(value as string, path)),
  repair: inputChecks.checkBoolean,
  owner: inputChecks.optionalName,
  metadata: checkedLater,
})

/** Checks the arguments of an import. Throws `invalid-input` and `invalid-key`. */
export function checkImport(lines: unknown, options: ImportOptions): void {
  importOptions('importSession.options', options)
  const isLines = typeof lines === 'object' && lines !== null && (Symbol.asyncIterator in lines || Symbol.iterator in lines)
  if (!isLines) inputChecks.checkRequired('lines', lines, 'an iterable of lines', () => false)
}

/** Returns the error for an agent name that the runtime does not have. */
export function unknownAgent(name: string, known: readonly string[]): SessionError {
  return new SessionError('unknown-agent', `There is no agent ${JSON.stringify(name)}${listOfNames(name, known)}`)
}
