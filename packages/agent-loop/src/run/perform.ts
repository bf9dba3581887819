import { AgentError, errorData, messageOf } from '../agent-error.ts'
import type { Order } from '../agent/input.ts'
import type { AgentResult, SubmissionReceipt } from '../agent/options.ts'
import type { AgentErrorCode, AgentErrorData } from '../events/types.ts'
import type { JournalState } from '../journal/journal.ts'
import { openCalls } from '../loop/begin.ts'
import { suspended } from '../loop/ending.ts'
import { runTurn } from '../loop/run-turn.ts'
import type { TurnEntry } from '../loop/run-turn.ts'
import { checkSubmission } from '../loop/submission.ts'
import { Turn } from '../loop/turn.ts'
import type { TurnParts } from '../loop/turn.ts'
import { isSettled, pendingToolCalls } from '../tools/call.ts'
import { emptyResult, journalError, refused, resultOf } from './result.ts'

/** A turn that can be run, or the result of a run that stores nothing. */
type Entered = { readonly entry: TurnEntry; readonly receipt?: SubmissionReceipt } | { readonly result: AgentResult }

/** From the order to its result. It must not reject. `onRunId` is told the id as soon as the journal has given it. */
export async function perform(
  parts: TurnParts,
  order: Order,
  newRunId: string,
  onRunId: (runId: string) => void,
): Promise<AgentResult> {
  let turn: Turn | undefined
  try {
    const state = await parts.journal.load()
    const runId = order.kind === 'message' ? newRunId : (state.open?.runId ?? newRunId)
    onRunId(runId)
    turn = newTurn(parts, state, order, runId)
    const entered = await enter(turn, state, order)
    if ('result' in entered) return entered.result
    const ending = await runTurn(turn, entered.entry)
    return resultOf(turn, ending ?? left(turn), entered.receipt)
  } catch (error) {
    // Whoever still works for this run must stop: nothing of it can be stored any more.
    parts.stop.stop({ kind: 'fenced' })
    return turn ? resultOf(turn, journalError(dataOf(error))) : emptyResult(newRunId, failureOf(error))
  }
}

function newTurn(parts: TurnParts, state: JournalState, order: Order, runId: string): Turn {
  const { messages, open } = state
  const began = order.kind === 'message' ? undefined : open
  const turn = began?.turn ?? state.turns + 1
  return new Turn(parts, { runId, turn, step: began?.step ?? 0, usage: began?.usage ?? {}, messages })
}

async function enter(turn: Turn, state: JournalState, order: Order): Promise<Entered> {
  const { open } = state
  const refuse = (code: AgentErrorCode, message: string): Entered => ({ result: resultOf(turn, refused({ code, message })) })
  if (order.kind === 'message') {
    if (open) return refuse('pending-calls', 'the conversation has an open turn')
    const objection = turn.transcript.objectionTo(order.message.id)
    return objection === undefined ? { entry: order } : refuse('invalid-transcript', objection)
  }
  const calls = open ? await openCalls(turn, open) : []
  turn.earlierCalls = open ? turn.transcript.callsOfTurn() - calls.length : 0
  if (order.kind === 'resume') {
    if (!open) return refuse('nothing-to-run', 'the conversation has no open turn')
    return { entry: { kind: 'resume', open, calls, submission: undefined } }
  }
  const checked = checkSubmission(turn, calls, order.results)
  if (!checked.ok) return { result: resultOf(turn, refused(checked.error)) }
  const { receipt } = checked.value
  if (receipt.accepted.length > 0 && open) {
    return { entry: { kind: 'resume', open, calls, submission: checked.value }, receipt }
  }
  const waiting = calls.some((call) => !isSettled(call)) && pendingToolCalls(calls).length > 0
  const ending = waiting ? suspended(calls) : ({ status: 'completed', reason: 'handled' } as const)
  return { result: resultOf(turn, ending, receipt) }
}

/** The turn stays open; somebody else goes on with it. */
function left(turn: Turn): Pick<AgentResult, 'status' | 'reason' | 'error'> {
  if (turn.stop.cause?.kind === 'fenced') return journalError({ code: 'fenced', message: 'the run belongs to another process' })
  return { status: 'aborted', reason: 'yielded' }
}

/** Before there is a turn: a transcript that breaks its invariants is refused; all else is the journal's failure. */
function failureOf(error: unknown): Pick<AgentResult, 'status' | 'reason' | 'error'> {
  const data = dataOf(error)
  return data.code === 'invalid-transcript' ? refused(data) : journalError(data)
}

function dataOf(error: unknown): AgentErrorData {
  if (AgentError.isInstance(error)) return errorData(error)
  return { code: 'journal-failed', message: messageOf(error) }
}
