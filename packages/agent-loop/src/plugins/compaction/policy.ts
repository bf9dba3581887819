import { checkBoolean, checkFunction, checkKeys, checkModel, checkName, checkRequired, checkText, checkWhole } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'
import type { CompactionPolicy, Compactor } from '../../contract/compaction.ts'

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
