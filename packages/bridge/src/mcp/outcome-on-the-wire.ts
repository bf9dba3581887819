import type { BridgeResult } from '../bridge-contract.ts'
import { withCounts } from '../requests/outcome.ts'

/** Returns an outcome in the form of the tools. Throws the error of a failed request. */
export function outcomeOnTheWire(result: BridgeResult): object {
  if (!result.ok) throw result.error
  const { ok: _ok, usage, ...outcome } = result
  return { ...outcome, ...withCounts(usage) }
}
