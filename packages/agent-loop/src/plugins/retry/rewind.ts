import type { Call } from '../../kernel/call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Turn } from '../../kernel/turn.ts'

/** Index in the transcript before which nothing may be withdrawn any more: a tool that is not `pure` has run there. */
const barrierOf = turnState(({ open, transcript }) => {
  // It is not known any more which tools of earlier segments were pure.
  const isKnown = !open || (transcript.placeOf(open.inputMessageId) !== undefined && transcript.callsSince(open.inputMessageId) === 0)
  return { place: isKnown ? 0 : Infinity }
})

/** Initialises the barrier from what the journal says about the turn. */
export function watchBarrier(turn: Turn): void {
  barrierOf(turn)
}

/** Raises the barrier if a call of an answer had an effect: messages that led to an effect must not be withdrawn. */
export function raiseBarrier(turn: Turn, calls: readonly Call[]): void {
  const barrier = barrierOf(turn)
  if (calls.some(hadEffect)) barrier.place = turn.transcript.messages.length
}

function hadEffect({ row }: Call): boolean {
  return row.effect !== 'pure' && (row.attempt > 0 || row.startedAt !== undefined)
}

/** Returns the ids of answers and results since the last tool that is not `pure` ran. Inputs stay. */
export function messagesToRewind(turn: Turn): readonly string[] {
  const from = Math.max(barrierOf(turn).place, turn.beginsAt, behindCompaction(turn))
  return turn.transcript.messages.slice(from).flatMap(({ id, role }) => (role === 'user' ? [] : id))
}

/**
 * Returns the ids of all messages that the turn has added to the transcript, its input included. Returns undefined if one of its
 * tools may have had an effect.
 */
export function messagesToWithdraw(turn: Turn): readonly string[] | undefined {
  if (turn.run.onFailedTurn !== 'rewind' || barrierOf(turn).place > turn.beginsAt) return undefined
  const { messages } = turn.transcript
  // An input that was in the log before the turn is above the beginning of the turn.
  const input = messages[turn.beginsAt - 1]
  const from = input && input.id === turn.inputId ? turn.beginsAt - 1 : turn.beginsAt
  return messages.slice(from).map(({ id }) => id)
}

/** Returns the index after the messages that the compaction in force depends on: without them the summary could not be placed. */
function behindCompaction({ transcript }: Turn): number {
  const { compaction } = transcript.shown
  const anchor = compaction && transcript.placeOf(compaction.firstKeptMessageId || compaction.lastMessageId)
  if (anchor === undefined) return 0
  const { messages } = transcript
  let place = anchor + 1
  while (messages[place]?.role === 'tool-result') place++
  return place
}
