import type { Clock } from '@bowline/llm'
import type { WorkerConnection } from './connection.ts'

const everyMs = 10_000
const maxMissed = 3

/** Calls `onLost` when the worker has left three pings in a row unanswered. Gives what ends the watch. */
export function watchPings(connection: WorkerConnection, clock: Clock, onLost: () => void): () => void {
  let missed = 0
  let waiting = false
  let cancel = setNext()

  function setNext(): () => void {
    return clock.setTimer(clock.now() + everyMs, beat)
  }

  function beat(): void {
    // An answer that cannot be read, because a reader is slow, is not missed.
    missed = waiting && !connection.stalled ? missed + 1 : 0
    if (missed >= maxMissed) return onLost()
    cancel = setNext()
    if (waiting) return
    waiting = true
    connection.ping().then(
      () => (waiting = false),
      // A worker that refuses the ping lives; a connection that ended is told elsewhere.
      () => (waiting = false),
    )
  }

  return () => cancel()
}
