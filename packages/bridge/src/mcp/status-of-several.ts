import type { BridgeResult } from '../bridge-contract.ts'
import { errorBody } from '../error-body.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeView } from './bridge-view.ts'
import { outcomeOnTheWire } from './outcome-on-the-wire.ts'
import { withCallFacts } from './told-error.ts'

export interface SeveralOptions {
  readonly waitFor: 'any' | 'all'
  readonly waitMs: number
  readonly abortSignal: AbortSignal
  readonly redaction: BridgeRedaction
}

/** Returns the status of each request, in order. A failed or missing request is reported with its error. */
export async function statusOfSeveral(
  bridge: BridgeView,
  requestIds: readonly string[],
  options: SeveralOptions,
): Promise<readonly object[]> {
  const { waitFor, waitMs, abortSignal, redaction } = options
  const enough = new AbortController()
  const waiting = { waitMs, abortSignal: AbortSignal.any([abortSignal, enough.signal]) }
  const results = await Promise.all(
    requestIds.map(async (requestId) => {
      const result = await bridge.request(requestId, waiting)
      // Requests that still run are then reported in their current state.
      if (waitFor === 'any' && !goesOn(result)) enough.abort()
      return result
    }),
  )
  return Promise.all(
    results.map(async (result, place) => {
      if (result.ok) return outcomeOnTheWire(result)
      const requestId = requestIds[place] as string
      return { requestId, status: 'error', error: errorBody(await withCallFacts(bridge, result.error, {}), redaction) }
    }),
  )
}

function goesOn(result: BridgeResult): boolean {
  return result.ok && (result.status === 'queued' || result.status === 'running' || result.status === 'awaiting-subagent')
}
