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

/** At most four events of an agent are passed on per second; of those in between the last one counts. */
const eventGapMs = 250

/** How far a note moves on that brings no figure of its own. */
const leastStep = 0.001

/** Figures beyond it are ignored: a least step would be lost in them. */
const mostProgress = 1e12

/**
 * Tells the caller of an open call that its request was accepted, what the agent says of its progress, and every
 * `heartbeatMs` that it still runs. Gives the function that ends it: nothing is sent after that.
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
  // How the run ends is told by the answer of the call.
  follow().catch(() => undefined)
  return () => {
    over = true
    cancelHeartbeat()
    cancelGap?.()
  }
}
