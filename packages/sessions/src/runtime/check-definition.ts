import type { Agent, AgentFingerprint } from '@bowline/agent-loop'
import { decide, diffOf, type DefinitionDiff, type DefinitionPolicy } from '../contract/definition-diff.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'

/** Decision on a run after comparing its definition with the present one of its agent. */
export type DefinitionCheck =
  /** The run starts. The definition is stored with it. */
  | { readonly kind: 'new'; readonly definition: AgentFingerprint }
  | { readonly kind: 'same' }
  | { readonly kind: 'continue'; readonly diff: DefinitionDiff }
  | { readonly kind: 'pin'; readonly diff: DefinitionDiff; readonly pinned: AgentFingerprint }
  | { readonly kind: 'refuse'; readonly diff: DefinitionDiff }

export async function checkDefinition(
  store: SessionStore,
  agent: Agent,
  run: RunRecord,
  policy: DefinitionPolicy,
): Promise<DefinitionCheck> {
  if (run.turn !== undefined && run.definition === undefined) return { kind: 'same' }
  const today = await agent.fingerprint()
  if (run.turn === undefined) return { kind: 'new', definition: today }
  if (run.definition === today.hash || run.definition === undefined) return { kind: 'same' }
  const before = (await store.readDefinition(run.definition)) as unknown as AgentFingerprint | undefined
  if (!before) return { kind: 'same' }
  const diff = diffOf(before, today)
  const decision = decide(policy, diff)
  if (decision !== 'pin') return { kind: decision, diff }
  // A tool of the old definition cannot run without its code.
  return diff.tools.removed.length > 0 ? { kind: 'refuse', diff } : { kind: 'pin', diff, pinned: before }
}
