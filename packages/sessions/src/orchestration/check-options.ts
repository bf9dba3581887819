import type { Usage } from '@bowline/llm'
import { needed, type ArgumentCheck, type FieldChecks } from '@bowline/llm/arguments'
import { configChecks, inputChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { checkTimeToLive } from '../contract/check-state.ts'
import { pageOptions } from '../contract/check-query.ts'
import type { StateQuery, TimeToLive } from '../contract/state-store.ts'
import type {
  ChangeOptions,
  CleanupOptions,
  ConditionContext,
  OrchestrationOptions,
  SimulationOptions,
  StorageOptions,
  SequencerOptions,
  UseContext,
} from './types.ts'

const anything: ArgumentCheck = () => undefined

const functions = configChecks.valuesOf(configChecks.requiredFunction)

/** The store and the configuration are checked where they are used. */
const orchestrationOptions = configChecks.optionalRecord<OrchestrationOptions & StorageOptions>({
  store: anything,
  storageProvider: anything,
  namespace: configChecks.optionalName,
  storageNamespace: configChecks.optionalName,
  config: anything,
  ttlMs: configChecks.optional((path, value) => checkTimeToLive(value as TimeToLive, path)),
  cleanup: configChecks.optionalRecord<CleanupOptions>({
    enabled: configChecks.checkBoolean,
    intervalMs: configChecks.whole(1),
    maxSessions: configChecks.whole(1),
  }),
  onUnavailable: configChecks.oneOf('no-tools', 'fail'),
  predicates: functions,
  clock: configChecks.methods('now', 'setTimer'),
  ids: configChecks.methods('next'),
  random: configChecks.checkFunction,
  environment: configChecks.checkObject,
  onDiagnostic: configChecks.checkFunction,
})

/** Returns the options with `store` and `namespace` instead of their aliases. Throws `invalid-config`. */
export function checkedOrchestrationOptions(
  given: OrchestrationOptions | (Omit<OrchestrationOptions, 'store' | 'namespace'> & StorageOptions),
): OrchestrationOptions {
  configChecks.checkObject('createOrchestration.options', needed(given))
  const { store, namespace, storageProvider, storageNamespace, ...others } = (given ?? {}) as Partial<OrchestrationOptions & StorageOptions>
  orchestrationOptions('createOrchestration.options', given)
  refuseBoth('store', store, 'storageProvider', storageProvider)
  refuseBoth('namespace', namespace, 'storageNamespace', storageNamespace)
  const space = namespace ?? storageNamespace
  const chosen = store === undefined ? storageProvider : store
  return { ...others, ...(chosen !== undefined && { store: chosen }), ...(space !== undefined && { namespace: space }) }
}

function refuseBoth(name: string, value: unknown, alias: string, other: unknown): void {
  if (value === undefined || other === undefined) return
  throw new SessionError('invalid-config', `createOrchestration.options has both ${name} and ${alias}: give one of them.`)
}

const sequencerOptions: FieldChecks<SequencerOptions> = { predicates: functions, onDiagnostic: configChecks.checkFunction }

export const checkSequencerOptions = configChecks.optionalRecord<SequencerOptions>(sequencerOptions)

export const checkSimulationOptions = configChecks.optionalRecord<SimulationOptions>({
  ...sequencerOptions,
  offered: configChecks.listOf(configChecks.checkName),
})

export const checkChangeOptions = inputChecks.optionalRecord<ChangeOptions>({ key: inputChecks.optionalName })

const tokens = inputChecks.whole(0)

export const checkUsage = inputChecks.optionalRecord<Usage>({
  inputTokens: tokens,
  noCacheTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  textTokens: tokens,
  reasoningTokens: tokens,
  totalTokens: tokens,
  estimated: inputChecks.checkBoolean,
  raw: inputChecks.checkObject,
})

export const checkRecordOptions = inputChecks.optionalRecord<ChangeOptions & { readonly usage?: Usage }>({
  key: inputChecks.optionalName,
  usage: checkUsage,
})

export const checkStateQuery = inputChecks.optionalRecord<StateQuery>({ ...pageOptions, prefix: inputChecks.checkText })

const conditionContext: FieldChecks<ConditionContext> = {
  message: inputChecks.checkText,
  turns: inputChecks.whole(0),
  state: inputChecks.checkObject,
  args: anything,
}

export const checkConditionContext = inputChecks.optionalRecord<ConditionContext>(conditionContext)

export const checkUseContext = inputChecks.optionalRecord<UseContext>({
  ...conditionContext,
  at: (path, value) => inputChecks.checkNumber(path, value, 0),
  key: inputChecks.optionalName,
})

/** Checks the list of tools that are offered to the model. */
export function checkOffered(path: string, offered: unknown): void {
  inputChecks.checkRequired(path, offered, 'a list of names', Array.isArray)
  inputChecks.listOf((place, name) => inputChecks.checkRequired(place, name, 'a text', (given) => typeof given === 'string'))(path, offered)
}
