import type { Clock } from '@bowline/llm'
import type { BridgeEvent } from '../agent.ts'
import type { BridgeRun } from '../bridge-contract.ts'

export interface ProgressNote {
  readonly progress: number
  readonly total?: number
  readonly message: string
}

export type ProgressSender = (note: ProgressNote) => void

type ProgressEvent = Extract<BridgeEvent, { type: 'progress' }>

export interface ProgressOptions {
  readonly clock: Clock
  readonly heartbeatMs: number
  readonly send: ProgressSender
}

/** Minimum time between two progress events, so at most four per second. Of the events in between, only the last one is sent. */
const eventGapMs = 250

/** Increase of `progress` for a message without a higher figure. */
const leastStep = 0.001

/** Larger figures are ignored: adding the least step to them would be lost in rounding. */
const mostProgress = 1e12

/**
 * Sends progress to the caller of an open call: the acceptance of the request, progress of the agent, and a sign of life every
 * `heartbeatMs`. Returns a function that stops it; after that nothing is sent.
 */
export function reportProgress(run: BridgeRun, { clock, heartbeatMs, send }: ProgressOptions): () => void {
  let least = 0
  let message = `Request ${run.requestId} is running`
  let total: number | undefined
  let waiting: ProgressEvent | undefined
  let over = false
  let cancelHeartbeat = (): void => {}
  let cancelGap: (() => void) | undefined

  function tell(text: string, reported = 0): void {
    const progress = Math.max(least, reported <= mostProgress ? reported : 0)
    least = progress + leastStep
    send({ progress, ...(total !== undefined && total >= progress && { total }), message: text })
  }

  function beat(): void {
    cancelHeartbeat = clock.setTimer(clock.now() + heartbeatMs, () => {
      tell(message)
      beat()
    })
  }

  function passOn(): void {
    cancelGap = undefined
    if (!waiting) return
    const event = waiting
    waiting = undefined
    message = event.message ?? message
    total = event.total ?? total
    tell(message, event.progress)
    cancelGap = clock.setTimer(clock.now() + eventGapMs, passOn)
  }

  async function follow(): Promise<void> {
    for await (const event of run) {
      if (over) return
      if (event.type !== 'progress') continue
      waiting = event
      if (!cancelGap) passOn()
    }
  }

  tell(`Request ${run.requestId} of session ${run.sessionId} was accepted`)
  beat()
  // The answer of the call reports how the run ends.
  follow().catch(() => undefined)
  return () => {
    over = true
    cancelHeartbeat()
    cancelGap?.()
  }
}
