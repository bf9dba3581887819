import type { Clock } from '@bowline/llm'
import type { WorkerConnection } from './connection.ts'

const everyMs = 10_000
const maxMissed = 3

/** Calls `onLost` after three unanswered pings in a row. Returns a function that stops the pings. */
export function watchPings(connection: WorkerConnection, clock: Clock, onLost: () => void): () => void {
  let missed = 0
  let waiting = false
  let cancel = setNext()

  function setNext(): () => void {
    return clock.setTimer(clock.now() + everyMs, beat)
  }

  function beat(): void {
    // If reading is paused because of a slow consumer, an answer is not counted as missed.
    missed = waiting && !connection.stalled ? missed + 1 : 0
    if (missed >= maxMissed) return onLost()
    cancel = setNext()
    if (waiting) return
    waiting = true
    connection.ping().then(
      () => (waiting = false),
      // A worker that refuses the ping is alive. A closed connection is handled elsewhere.
      () => (waiting = false),
    )
  }

  return () => cancel()
}
