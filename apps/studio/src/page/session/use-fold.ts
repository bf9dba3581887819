import type { AgentEvent } from '@bowline/agent-loop/events'
import type { ClientEvent } from '@bowline/client'
import { useMemo } from 'react'

interface Fold<State> {
  readonly empty: State
  /** Must leave the state as it is for a numbered event that it has seen. */
  readonly add: (state: State, event: AgentEvent) => State
}

/** The fold of a session's events, gone on with from where the last render was. `fold` must be the same object every time. */
export function useFold<State>(sessionId: string, events: readonly ClientEvent[], fold: Fold<State>): State {
  // Another session begins with an empty state.
  const foldOn = useMemo(() => createFold(fold), [sessionId, fold])
  return useMemo(() => foldOn(events), [foldOn, events])
}

function createFold<State>({ empty, add }: Fold<State>): (events: readonly ClientEvent[]) => State {
  let state = empty
  let last: ClientEvent | undefined
  return (events) => {
    // Not found, all are folded: numbered ones that are in the state already change nothing.
    const known = last === undefined ? -1 : events.lastIndexOf(last)
    for (const event of events.slice(known + 1)) {
      if (event.type !== 'unknown' && event.type !== 'resync') state = add(state, event)
    }
    last = events.at(-1) ?? last
    return state
  }
}
