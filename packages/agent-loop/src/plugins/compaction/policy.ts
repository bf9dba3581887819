import { checkBoolean, checkFunction, checkKeys, checkModel, checkName, checkRequired, checkText, checkWhole } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'
import type { CompactionPolicy, CompactionResult, Compactor } from '../../contract/compaction.ts'
import type { Journal } from '../../contract/journal.ts'
import type { Compaction, CompactionTrigger } from '../../events/message-events.ts'
import type { ModelName } from '../../events/turn-events.ts'
import { modelKey } from '../../transcript/estimate.ts'

/** The option of an agent, checked and with defaults. The policy of a compactor decides when it is called. */
export type CompactionSetting =
  | { readonly kind: 'off' }
  | { readonly kind: 'policy'; readonly policy: CompactionPolicy }
  | { readonly kind: 'compactor'; readonly policy: CompactionPolicy; readonly compactor: Compactor }

/** A compactor that never changes the view. Old messages are sent until the window is full. */
export const nullCompaction: Compactor = Object.freeze({ name: 'null', compact: () => Promise.resolve(undefined) })

export const defaultPolicy: CompactionPolicy = Object.freeze({
  reserveTokens: 16_384,
  keepRecentTokens: 20_000,
  maxFailures: 3,
  minShrink: 0.1,
  automatic: true,
})

const policyKeys: readonly string[] = [
  ...Object.keys(defaultPolicy),
  ...(['triggerRatio', 'model', 'instructions', 'facts'] satisfies (keyof CompactionPolicy)[]),
]

/** Reads the option. Throws `invalid-config` that names the wrong field. */
export function compactionPolicyOf(option: Partial<CompactionPolicy> | Compactor | false | undefined): CompactionSetting {
  if (option === false || option === nullCompaction) return { kind: 'off' }
  if (option === undefined) return { kind: 'policy', policy: defaultPolicy }
  checkRequired('compaction', option, 'a policy, a compactor or false', isRecord)
  if ('compact' in option) return { kind: 'compactor', policy: defaultPolicy, compactor: checkedCompactor(option) }
  checkKeys('compaction', option, policyKeys)
  checkPolicy(option)
  const given = Object.fromEntries(Object.entries(option).filter(([, value]) => value !== undefined))
  return { kind: 'policy', policy: Object.freeze({ ...defaultPolicy, ...given }) }
}

function checkedCompactor(compactor: Compactor): Compactor {
  const { compact } = compactor as unknown as Readonly<Record<string, unknown>>
  checkFunction('compaction.compact', compact)
  checkName('compaction.name', compactor.name)
  return compactor
}

function checkPolicy(policy: Partial<CompactionPolicy>): void {
  checkWhole('compaction.reserveTokens', policy.reserveTokens, 0)
  checkWhole('compaction.keepRecentTokens', policy.keepRecentTokens, 0)
  checkWhole('compaction.maxFailures', policy.maxFailures, 1)
  checkShare('compaction.triggerRatio', policy.triggerRatio)
  checkShare('compaction.minShrink', policy.minShrink)
  checkFunction('compaction.facts', policy.facts)
  checkBoolean('compaction.automatic', policy.automatic)
  checkText('compaction.instructions', policy.instructions)
  if (policy.model !== undefined) checkModel('compaction.model', policy.model)
}

function checkShare(path: string, value: unknown): void {
  if (value !== undefined)
    checkRequired(path, value, 'a number from 0 to 1', (given) => typeof given === 'number' && given >= 0 && given <= 1)
}

/** The reason for a compaction, and the estimate at that time. */
export interface CompactionCause {
  readonly trigger: CompactionTrigger
  readonly tokensBefore: number
}

/** The facts that decide whether a compaction runs automatically. */
export interface DueState {
  readonly setting: CompactionSetting
  readonly breaker: Breaker
  /** Model of the next call. */
  readonly model: ModelName
  /** Estimated tokens of the next call. */
  readonly tokens: number
  readonly contextWindow: number | undefined
  /** The compaction in force. */
  readonly compaction: Compaction | undefined
}

/** Share of the window by which the estimate must have grown since the last compaction. */
const leastGrowth = 0.1
/** Share by which a compaction after an overflow must lower the estimate. */
const leastFall = 0.1

/** Returns whether a compaction with trigger `threshold` is due after a turn. */
export function isDueAfterTurn(state: DueState): boolean {
  const { setting, contextWindow, tokens } = state
  if (setting.kind === 'off' || contextWindow === undefined) return false
  return tokens > thresholdOf(setting.policy, contextWindow) && hasGrown(state, contextWindow) && mayRunByItself(state)
}

/** Returns whether a compaction with trigger `window` is due before a call. `reservedOutput`: tokens that the answer may need. */
export function isDueBeforeCall(state: DueState, reservedOutput: number): boolean {
  const { contextWindow, tokens } = state
  if (contextWindow === undefined) return false
  return tokens + reservedOutput > contextWindow && hasGrown(state, contextWindow) && mayRunByItself(state)
}

/**
 * Returns whether a compaction may run without a request. For trigger `overflow` this is the only condition: the provider itself
 * has shown that the estimate is wrong.
 */
export function mayRunByItself({ setting, breaker, model }: DueState): boolean {
  if (setting.kind === 'off') return false
  return setting.policy.automatic && !breaker.isOpen(setting.policy.maxFailures, model)
}

/** Returns whether the call that did not fit may be made again. */
export function makesRoom(
  { outcome, tokensBefore, tokensAfter }: CompactionResult,
  contextWindow: number | undefined,
  reservedOutput: number,
): boolean {
  if (outcome !== 'done' || tokensAfter === undefined) return false
  const fits = contextWindow === undefined || tokensAfter + reservedOutput <= contextWindow
  return fits && tokensAfter <= tokensBefore * (1 - leastFall)
}

/**
 * Returns the tokens above which a compaction is due after a turn. A reserve as large as the window would request a compaction
 * after every turn.
 */
export function thresholdOf(
  { triggerRatio, reserveTokens }: Pick<CompactionPolicy, 'triggerRatio' | 'reserveTokens'>,
  contextWindow: number,
): number {
  if (triggerRatio !== undefined) return contextWindow * triggerRatio
  return reserveTokens < contextWindow ? contextWindow - reserveTokens : contextWindow / 2
}

function hasGrown({ compaction, tokens }: DueState, contextWindow: number): boolean {
  return compaction === undefined || tokens - compaction.tokensAfter >= contextWindow * leastGrowth
}

/**
 * Counts consecutive useless compactions of a conversation. While it is open, no compaction runs automatically. A new model of the
 * conversation closes it.
 */
export class Breaker {
  #useless = 0
  #model = ''

  isOpen(maxFailures: number, model: ModelName): boolean {
    return this.#useless >= maxFailures && modelKey(model) === this.#model
  }

  addUseless(model: ModelName): void {
    this.#useless = modelKey(model) === this.#model ? this.#useless + 1 : 1
    this.#model = modelKey(model)
  }

  close(): void {
    this.#useless = 0
  }
}

const breakers = new WeakMap<object, Breaker>()

/** Returns the breaker of the conversation, which lives as long as this process holds the conversation's object. */
export function breakerOf(journal: Journal): Breaker {
  const conversation = journal.conversation ?? journal
  let breaker = breakers.get(conversation)
  if (!breaker) breakers.set(conversation, (breaker = new Breaker()))
  return breaker
}
