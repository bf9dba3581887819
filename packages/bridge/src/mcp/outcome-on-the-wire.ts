import type { Usage } from '@bowline/llm'
import type { BridgeResult } from '../bridge-contract.ts'

/** An outcome as tools give it. Throws the error of a request that failed. */
export function outcomeOnTheWire(result: BridgeResult): object {
  if (!result.ok) throw result.error
  const { ok: _ok, usage, ...outcome } = result
  return { ...outcome, ...(usage && hasCounts(usage) && { usage: withBothCounts(usage) }) }
}

function hasCounts(usage: Usage): boolean {
  return Object.keys(usage).length > 0
}

/** Clients of tools expect both counts where there are any: one that nobody reported is 0 here, and only here. */
function withBothCounts(usage: Usage): Usage {
  return { ...usage, inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 }
}
