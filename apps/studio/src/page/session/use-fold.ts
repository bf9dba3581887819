import type { AgentEvent } from '@bowline/agent-loop/events'
import type { ClientEvent } from '@bowline/client'
import { useMemo } from 'react'

interface Fold<State> {
  readonly empty: State
  /** Must return the state unchanged for a numbered event that it already includes. */
  readonly add: (state: State, event: AgentEvent) => State
}

/** Returns the fold of a session's events. It continues from the last render. `fold` must be the same object every time. */
export function useFold<State>(sessionId: string, events: readonly ClientEvent[], fold: Fold<State>): State {
  // Another session starts with an empty state.
  const foldOn = useMemo(() => createFold(fold), [sessionId, fold])
  return useMemo(() => foldOn(events), [foldOn, events])
}

function createFold<State>({ empty, add }: Fold<State>): (events: readonly ClientEvent[]) => State {
  let state = empty
  let last: ClientEvent | undefined
  return (events) => {
    // If it is not found, all events are folded: numbered events that the state already includes change nothing.
    const known = last === undefined ? -1 : events.lastIndexOf(last)
    for (const event of events.slice(known + 1)) {
      if (event.type !== 'unknown' && event.type !== 'resync') state = add(state, event)
    }
    last = events.at(-1) ?? last
    return state
  }
}
