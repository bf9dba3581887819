import type { AgentEvent } from '@bowline/agent-loop'

/** True for events of a started run of this session, which void deltas. A run that was stopped before its start has turn 0. */
export function isOfRun(event: AgentEvent): event is Extract<AgentEvent, { turn: number }> {
  return 'turn' in event && event.turn > 0 && !isOfSubagent(event)
}

/** True if a subagent's run delivered the event. In the background, it reports its questions and holds to the root. */
export function isOfSubagent(event: AgentEvent): boolean {
  switch (event.type) {
    case 'child-update':
    case 'child-end':
      return true
    case 'awaiting-tools':
    case 'approval-requested':
    case 'approval-resolved':
      return event.background !== undefined
    case 'error':
      return event.path !== undefined
    default:
      return false
  }
}

/** True if the event can be the last of a run. A run that never started ends with `turn-end`, a compaction with `settled`. */
export function canBeLast({ type }: AgentEvent): boolean {
  return type === 'turn-end' || type === 'save-point' || type === 'settled'
}
