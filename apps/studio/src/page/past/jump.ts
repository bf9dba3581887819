import type { DurableEvent } from '@bowline/agent-loop/events'

export type JumpTarget = 'commit' | 'tool' | 'error' | 'crash'

/** Returns the number of shown events after the jump: up to the next one of this kind. Returns undefined if there is none. */
export function jump(log: readonly DurableEvent[], shown: number, target: JumpTarget): number | undefined {
  for (let count = shown + 1; count <= log.length; count++) {
    const event = log[count - 1]
    if (event && isTarget(event, log[count], target)) return count
  }
  return undefined
}

function isTarget(event: DurableEvent, next: DurableEvent | undefined, target: JumpTarget): boolean {
  switch (target) {
    case 'commit':
      return next === undefined || next.commit !== undefined
    case 'tool':
      return event.type === 'tool-execution-start' || event.type === 'tool-execution-end'
    case 'error':
      return isError(event)
    case 'crash':
      return event.type === 'turn-start' && event.cause === 'takeover'
  }
}

function isError(event: DurableEvent): boolean {
  switch (event.type) {
    case 'error':
    case 'retry-start':
      return true
    case 'message-end':
      return event.message.stopReason === 'error'
    case 'tool-execution-end':
      return event.message.status === 'error' || event.message.status === 'unknown'
    case 'turn-end':
    case 'child-end':
      return event.status === 'error'
    default:
      return false
  }
}
