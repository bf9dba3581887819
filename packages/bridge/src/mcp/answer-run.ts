import type { BridgeRun } from '../bridge-contract.ts'
import { outcomeOnTheWire } from './outcome-on-the-wire.ts'
import { reportProgress } from './report-progress.ts'
import type { ToolCall } from './tool.ts'

export interface OpenCall {
  readonly start: (abortSignal: AbortSignal) => Promise<BridgeRun>
  readonly waitMs: number
  /** Whether the caller can query the request later. */
  readonly canBeFound: boolean
}

/**
 * Starts a run and answers with its outcome. After `waitMs`, answers with the current state, and the work continues. A cancel by
 * the caller cancels the work. A lost connection cancels it only if the caller could never query the request.
 */
export async function answerRun(call: ToolCall, { start, waitMs, canBeFound }: OpenCall): Promise<object> {
  const { bridge, abortSignal } = call
  const cancel = new AbortController()
  const waited = Promise.withResolvers<undefined>()
  const leave = (): void => {
    if (!(canBeFound && isLostConnection(abortSignal.reason))) cancel.abort()
    waited.resolve(undefined)
  }
  abortSignal.addEventListener('abort', leave, { once: true })
  const cancelTimer = bridge.clock.setTimer(bridge.clock.now() + waitMs, () => waited.resolve(undefined), { hold: true })
  let endProgress = (): void => {}
  try {
    if (abortSignal.aborted) leave()
    const run = await start(cancel.signal)
    if (!(await run.accepted())) return outcomeOnTheWire(await run.result())
    endProgress = progressOf(call, run)
    const result = waitMs === 0 ? undefined : await Promise.race([run.result(), waited.promise])
    return outcomeOnTheWire(result ?? (await bridge.request(run.requestId)))
  } finally {
    // From here on the signal is ignored: the SDK aborts it at the end of every exchange.
    abortSignal.removeEventListener('abort', leave)
    cancelTimer()
    endProgress()
  }
}

function progressOf({ bridge, sendProgress }: ToolCall, run: BridgeRun): () => void {
  if (!sendProgress) return () => {}
  return reportProgress(run, { clock: bridge.clock, heartbeatMs: bridge.limits.heartbeatMs, send: sendProgress })
}

/** A lost connection has an error of the SDK as its reason; a cancel has the caller's reason. */
function isLostConnection(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && reason.code === 'CONNECTION_CLOSED'
}
