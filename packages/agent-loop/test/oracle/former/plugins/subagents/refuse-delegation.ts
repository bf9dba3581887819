import type { Call } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'

/** Why a call may not start its subagent, before there is one. */
export function refusedDelegation({ run }: Turn, { tool }: Call): Outcome | undefined {
  if (!tool?.subagent) return undefined
  const { journal, depth, limits } = run
  if (depth >= limits.maxDepth) return errorOutcome(`agents may hand work on ${limits.maxDepth} levels deep, and no further`, 'no')
  if (journal.child || journal.children) return undefined
  return errorOutcome('the journal of this conversation keeps no subagents', 'no')
}
