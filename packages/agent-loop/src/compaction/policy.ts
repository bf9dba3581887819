import type { AnyLanguageModel, Message, ModelRef, Usage } from '@bowline/llm'
import { checkModel } from '../agent/check-model.ts'
import { checkBoolean, checkFunction, checkKeys, checkName, checkRequired, checkText, checkWhole } from '../agent/check-options.ts'
import type { Compaction, CompactionOutcome, CompactionTrigger, Fact } from '../events/types.ts'
import { isRecord } from '../json.ts'

export interface CompactionPolicy {
  /** A compaction is due after a turn when less than this is free in the window. Default 16,384. */
  readonly reserveTokens: number
  /** About what stays as it is. Default 20,000. */
  readonly keepRecentTokens: number
  /** Share of the window from which on a compaction is due; wins over `reserveTokens`. */
  readonly triggerRatio?: number
  /** Default: the agent's. */
  readonly model?: AnyLanguageModel | ModelRef
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Failures, or shrinks below `minShrink`, in a row, after which none runs by itself. Default 3. */
  readonly maxFailures: number
  /** Share by which the estimate must fall. Default 0.1. */
  readonly minShrink: number
  /** Facts of a message, besides those that the loop finds itself. */
  readonly facts?: (message: Message) => readonly Fact[]
  /** False: only on request and by hand. Default true. */
  readonly automatic: boolean
}

/** Makes compactions its own way. Undefined leaves the view as it is. */
export interface Compactor {
  readonly name: string
  compact(request: CompactionRequest): Promise<Compaction | undefined>
}

/** What a compactor works on. */
export interface CompactionRequest {
  readonly compactionId: string
  readonly trigger: CompactionTrigger
  /** What the model is shown today. */
  readonly view: readonly Message[]
  /** The compaction in force. */
  readonly previous?: Compaction
  readonly tokensBefore: number
  readonly contextWindow?: number
  readonly instructions?: string
  readonly abortSignal: AbortSignal
}

export interface CompactionResult {
  readonly outcome: CompactionOutcome
  readonly reason?: string
  readonly tokensBefore: number
  readonly tokensAfter?: number
  readonly usage?: Usage
  readonly compaction?: Compaction
}

/** The option of an agent, checked and with defaults. The policy of a compactor says when it is asked. */
export type CompactionSetting =
  | { readonly kind: 'off' }
  | { readonly kind: 'policy'; readonly policy: CompactionPolicy }
  | { readonly kind: 'compactor'; readonly policy: CompactionPolicy; readonly compactor: Compactor }

/** Never changes the view. */
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

/** Throws `invalid-config` that names the field. */
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
  if (value !== undefined) checkRequired(path, value, 'a number from 0 to 1', (given) => typeof given === 'number' && given >= 0 && given <= 1)
}
