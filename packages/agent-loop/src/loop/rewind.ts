import type { Turn } from './turn.ts'

/** With `rewind: 'turn'`: what the model said since the last tool that is not `pure` ran. Inputs stay. */
export function messagesToRewind(turn: Turn): readonly string[] {
  if (turn.agent.retry.rewind !== 'turn') return []
  const from = Math.max(turn.firm, turn.beginsAt)
  return turn.transcript.messages.slice(from).flatMap(({ id, role }) => (role === 'user' ? [] : id))
}

/** All that the turn has added to the transcript, its input included. */
export function messagesOfTurn(turn: Turn): readonly string[] {
  return turn.transcript.messages.slice(turn.beginsAt).map(({ id }) => id)
}

/** A turn that failed may leave nothing behind only when no tool of it did anything. */
export function mayWithdrawTurn(turn: Turn): boolean {
  return turn.run.onFailedTurn === 'rewind' && turn.firm <= turn.beginsAt
}
