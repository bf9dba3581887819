import type { BridgeResult } from '../bridge-contract.ts'
import { withCounts } from '../requests/outcome.ts'

/** An outcome as tools give it. Throws the error of a request that failed. */
export function outcomeOnTheWire(result: BridgeResult): object {
  if (!result.ok) throw result.error
  const { ok: _ok, usage, ...outcome } = result
  return { ...outcome, ...withCounts(usage) }
}
