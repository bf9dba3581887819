import type { Turn } from '../../kernel/turn.ts'

/** With `rewind: 'turn'`: what the model said since the last tool that is not `pure` ran. Inputs stay. */
export function messagesToRewind(turn: Turn): readonly string[] {
  if (turn.agent.retry.rewind !== 'turn') return []
  const from = Math.max(turn.firm, turn.beginsAt, behindCompaction(turn))
  return turn.transcript.messages.slice(from).flatMap(({ id, role }) => (role === 'user' ? [] : id))
}

/** All that the turn has added to the transcript, its input included. */
export function messagesOfTurn(turn: Turn): readonly string[] {
  const { messages } = turn.transcript
  // An input that was in the log before the turn stands above its beginning.
  const input = messages[turn.beginsAt - 1]
  const from = input && input.id === turn.inputId ? turn.beginsAt - 1 : turn.beginsAt
  return messages.slice(from).map(({ id }) => id)
}

/** A turn that failed may leave nothing behind only when no tool of it did anything. */
export function mayWithdrawTurn(turn: Turn): boolean {
  return turn.run.onFailedTurn === 'rewind' && turn.firm <= turn.beginsAt
}

/** The compaction in force hangs on a message: without it nobody knew any more what the summary stands for. */
function behindCompaction({ transcript }: Turn): number {
  const { compaction } = transcript.shown
  const anchor = compaction && transcript.placeOf(compaction.firstKeptMessageId === '' ? compaction.lastMessageId : compaction.firstKeptMessageId)
  if (anchor === undefined) return 0
  const { messages } = transcript
  let place = anchor + 1
  while (messages[place]?.role === 'tool-result') place++
  return place
}
