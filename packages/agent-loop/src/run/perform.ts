import type { UserMessage } from '@bowline/llm'
import { AgentError, errorData, messageOf } from '../base/agent-error.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { AgentInput } from '../contract/input.ts'
import type { JournalState } from '../contract/journal.ts'
import type { AgentResult, SubmissionReceipt } from '../contract/run.ts'
import type { AgentErrorCode, AgentErrorData } from '../events/turn-events.ts'
import { isSettled, pendingApprovals, pendingToolCalls } from '../kernel/call.ts'
import type { Call } from '../kernel/call.ts'
import { emptyResult, journalError, refused, resultOf } from '../kernel/end.ts'
import { aborted, suspended } from '../kernel/ending.ts'
import type { TurnOutcome } from '../kernel/ending.ts'
import { openCalls } from '../kernel/enter.ts'
import type { NewTurn, TurnEntry } from '../kernel/enter.ts'
import { runTurn } from '../kernel/run-turn.ts'
import type { Turn } from '../kernel/turn.ts'
import { watchDuration } from '../plugins/limits/limits.ts'
import type { Order } from '../transcript/input.ts'
import { newTurn, openTurn, transcripts } from './run-parts.ts'
import type { RunParts } from './run-parts.ts'
import { checkSubmission, settleSubmission } from './submission.ts'

/** The call of `run`: its input and its id. */
export interface RunCommand {
  readonly order: Order
  readonly input: AgentInput | undefined
  readonly runId: string
  /** Called with the id as soon as the journal has given it. */
  readonly onRunId: (runId: string) => void
}

/** A turn that can be run, or the outcome of a run that stores nothing. */
type Entered =
  | { readonly entry: TurnEntry; readonly receipt?: SubmissionReceipt }
  | { readonly ending: TurnOutcome; readonly receipt?: SubmissionReceipt }

/** Performs a run over all its turns and returns its result. Must not reject. */
export async function perform(run: RunParts, asked: RunCommand): Promise<AgentResult> {
  const turns: Turn[] = []
  try {
    const state = await run.journal.load()
    const first = openTurn(run, state, asked.runId)
    turns.push(first)
    if (asked.order.kind !== 'message') asked.onRunId(first.runId)
    const entering = enter(run, first, state, asked)
    const entered = entering instanceof Promise ? await entering : entering
    if ('ending' in entered) return refusedResult(run, first, asked, entered)
    let ending = await play(first, entered.entry)
    for (let next = nextTurn(run, asked, entered.entry, ending); next; next = nextTurn(run, asked, next.entry, ending)) {
      const turn = newTurn(run, first.transcript, first.number + turns.length, next.runId)
      turns.push(turn)
      ending = await play(turn, next.entry)
    }
    transcripts.set(state.messages, first.transcript)
    return lastResult(run, turns, ending, entered.receipt)
  } catch (error) {
    return failedResult(run, turns, asked, error)
  }
}

/** Runs the turn while its time is watched. */
async function play(turn: Turn, entry: TurnEntry): Promise<TurnOutcome | undefined> {
  const unwatch = watchDuration(turn)
  try {
    return await runTurn(turn, entry)
  } finally {
    unwatch()
    turn.log.close()
  }
}

interface NextTurn {
  readonly runId: string
  readonly entry: NewTurn
}

/**
 * Returns the next turn of the run. If a turn was closed for a new input, it is the turn of that input; else that of a follow-up,
 * if the model would stop.
 */
function nextTurn(run: RunParts, asked: RunCommand, before: TurnEntry, ending: TurnOutcome | undefined): NextTurn | undefined {
  if (!ending) return undefined
  if (before.kind === 'close') {
    run.inbox.reopen()
    return { runId: asked.runId, entry: newEntry(asked, undefined) }
  }
  const next = ending.status === 'completed' && !run.stop.requested ? run.inbox.takeFollowUp() : undefined
  if (!next) return undefined
  run.inbox.reopen()
  return { runId: run.ids.next('run'), entry: { kind: 'new', message: next.message, input: next.message, inputId: next.inputId } }
}

function enter(run: RunParts, turn: Turn, state: JournalState, asked: RunCommand): MaybePromise<Entered> {
  const { order } = asked
  return order.kind === 'message' ? enterMessage(run, turn, state, order.message, asked) : enterOpen(turn, state, order, asked)
}

async function enterOpen(turn: Turn, state: JournalState, order: Exclude<Order, { kind: 'message' }>, asked: RunCommand): Promise<Entered> {
  const { open } = state
  const calls = openCalls(turn, open)
  await turn.plugins.delegation?.inspect(turn, calls)
  turn.earlierCalls = open ? turn.transcript.callsSince(turn.inputId) - calls.length : 0
  if (order.kind === 'answers') return enterAnswers(turn, state, calls, order)
  if (open) {
    // The turn has the overlays of the run since it began.
    if (!turn.isUntouched) turn.run.takeOverlays()
    return { entry: { kind: 'resume', open, calls } }
  }
  if (state.input) return { entry: newEntry(asked, state.input) }
  const { journal, limits } = turn.run
  const waiting = (await journal.drainInputs?.('turn-start', limits.maxQueuedInputs)) ?? []
  // Overlays alone do not begin a turn: they are shown above an input.
  if (waiting.some(({ source }) => source !== 'overlay')) return { entry: newEntry(asked, undefined) }
  return refuse('nothing-to-run', 'the conversation has no open turn and no pending input; send an input')
}

function newEntry({ order, input }: RunCommand, logged: JournalState['input']): NewTurn {
  if (logged) {
    const { message, inputId } = logged
    return { kind: 'new', message, input: message, logged, ...(inputId !== undefined && { inputId }) }
  }
  return { kind: 'new', input, ...(order.kind === 'message' && { message: order.message }) }
}

function enterMessage(run: RunParts, turn: Turn, state: JournalState, message: UserMessage, asked: RunCommand): Entered {
  const { open, input } = state
  if (!open && input) return { entry: newEntry(asked, input) }
  if (open && run.onInputWhilePending === 'refuse')
    return refuse('pending-calls', 'the conversation has an open turn; answer its pending calls or stop it')
  const objection = turn.transcript.objectionTo(message.id, { closes: open !== undefined })
  if (objection !== undefined) return refuse('invalid-transcript', objection)
  if (!open) return { entry: newEntry(asked, undefined) }
  return { entry: { kind: 'close', open, calls: openCalls(turn, open) } }
}

async function enterAnswers(
  turn: Turn,
  { open }: JournalState,
  calls: readonly Call[],
  answers: Extract<Order, { kind: 'answers' }>,
): Promise<Entered> {
  const wasStopped = turn.stop.requested
  const checked = await checkSubmission(turn, calls, answers)
  // A check that was cut off says nothing about the answers.
  if (!checked.ok) return { ending: turn.stop.requested && !wasStopped ? aborted(turn.stop, []) : refused(checked.error) }
  const { receipt } = checked.value
  if (!open) return { ending: { status: 'completed', reason: 'handled' }, receipt }
  if (receipt.accepted.length > 0)
    return { entry: { kind: 'resume', open, calls, answer: (turn) => settleSubmission(turn, checked.value) }, receipt }
  const waits = calls.some((call) => !isSettled(call)) && pendingToolCalls(calls).length + pendingApprovals(calls).length > 0
  // Repeats store nothing: a turn stays open if its process died after the answers were stored.
  return { ending: waits ? suspended(calls) : left(turn), receipt }
}

function refuse(code: AgentErrorCode, message: string): Entered {
  return { ending: refused({ code, message }) }
}

/** Returns the outcome of a turn that stays open for another process. */
function left(turn: Turn): TurnOutcome {
  if (turn.stop.cause?.kind === 'fenced') return journalError({ code: 'fenced', message: 'another process has taken over the run' })
  return { status: 'aborted', reason: 'yielded' }
}

/** Returns the result of a run that stores nothing. */
function refusedResult(
  run: RunParts,
  turn: Turn,
  asked: RunCommand,
  { ending, receipt }: Extract<Entered, { ending: TurnOutcome }>,
): AgentResult {
  const unusedInputs = run.inbox.unused()
  return asked.order.kind === 'message' ? emptyResult(asked.runId, ending, unusedInputs) : resultOf(turn, ending, { receipt, unusedInputs })
}

/** Returns the result of the last turn, with the messages of all turns. */
function lastResult(run: RunParts, turns: readonly Turn[], ending: TurnOutcome | undefined, receipt?: SubmissionReceipt): AgentResult {
  const [last, ...earlier] = turns.toReversed() as [Turn, ...Turn[]]
  const messages = earlier.reverse().flatMap(({ log }) => log.newMessages)
  return resultOf(last, ending ?? left(last), { receipt, earlier: messages, unusedInputs: run.inbox.unused() })
}

function failedResult(run: RunParts, turns: readonly Turn[], asked: RunCommand, error: unknown): AgentResult {
  // All work for this run must stop, because nothing of it can be stored any more.
  run.stop.stop({ kind: 'fenced' })
  const data = dataOf(error)
  if (turns.length > 0) return lastResult(run, turns, journalError(data))
  // Before there is a turn, a transcript that breaks its invariants is refused; any other failure is the journal's.
  const ending = data.code === 'invalid-transcript' ? refused(data) : journalError(data)
  return emptyResult(asked.runId, ending, run.inbox.unused())
}

function dataOf(error: unknown): AgentErrorData {
  if (AgentError.isInstance(error)) return errorData(error)
  return { code: 'journal-failed', message: messageOf(error) }
}
