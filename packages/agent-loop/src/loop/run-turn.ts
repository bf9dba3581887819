import type { AssistantMessage } from '@bowline/llm'
import type { Order } from '../agent/input.ts'
import type { OpenTurn } from '../journal/journal.ts'
import type { Call } from '../tools/call.ts'
import { beginMessage, beginStep, beginTurn, callsOf, endStep, resumeTurn } from './begin.ts'
import { callModel } from './call-model.ts'
import { endTurn, endingOf, stopped } from './ending.ts'
import type { Ending } from './ending.ts'
import { settleCalls } from './settle-calls.ts'
import type { Submission } from './submission.ts'
import type { Turn } from './turn.ts'

export type TurnEntry = Extract<Order, { kind: 'message' }> | Resumption

/** An open turn as the journal holds it, with the answers given to it. */
export interface Resumption {
  readonly kind: 'resume'
  readonly open: OpenTurn
  /** Of the latest answer, while it has calls without a result. */
  readonly calls: readonly Call[]
  readonly submission: Submission | undefined
}

/** What stands next: the end, an answer whose calls are open, or else a model call. */
interface Position {
  readonly ending?: Ending
  readonly answer?: AssistantMessage
  readonly calls?: readonly Call[]
}

/**
 * One turn, or one segment of it: the model is called and its tools are run until it asks for none. Records gather in
 * the turn's draft and are stored at the boundaries. Undefined: the turn was left open for another process.
 */
export async function runTurn(turn: Turn, entry: TurnEntry): Promise<Ending | undefined> {
  if (turn.stop.leaving) return undefined
  let position = entry.kind === 'message' ? begin(turn, entry) : resume(turn, entry)
  while (!position.ending) {
    const answer = position.answer ?? (await callModel(turn))
    if (!answer) return undefined
    const calls = position.calls ?? (await callsOf(turn, answer))
    await settleCalls(turn, answer, calls)
    if (turn.stop.leaving && calls.length > 0) return leave(turn)
    position = next(turn, answer, calls)
  }
  await endTurn(turn, position.ending)
  return position.ending
}

function begin(turn: Turn, entry: Extract<Order, { kind: 'message' }>): Position {
  beginTurn(turn, entry)
  if (turn.stop.stopped) return { ending: stopped([]) }
  beginStep(turn)
  return {}
}

function resume(turn: Turn, { open, calls, submission }: Resumption): Position {
  resumeTurn(turn, open, submission)
  const answer = turn.transcript.openAnswer
  if (answer) return { answer, calls }
  const midStep = open.openMessageId !== undefined
  if (turn.stop.stopped) {
    if (midStep) endStep(turn, [], false)
    return { ending: stopped([]) }
  }
  if (midStep) beginMessage(turn)
  else beginStep(turn)
  return {}
}

/** Ends the step, unless it waits for answers, and begins another one when the model is to go on. */
function next(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): Position {
  const ending = endingOf(turn, answer, calls)
  if (!ending?.pendingToolCalls) endStep(turn, calls, !ending)
  if (ending) return { ending }
  beginStep(turn)
  return {}
}

/** Stores what has arrived, and nothing that would end the step. */
async function leave(turn: Turn): Promise<undefined> {
  await turn.commit()
}
