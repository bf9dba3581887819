import type { UserMessage } from '@bowline/llm'
import type { AgentInput } from '../contract/input.ts'
import type { LoggedInput, OpenTurn } from '../contract/journal.ts'
import { endRetry, tellRetryEnd } from '../plugins/retry/record-retry.ts'
import { acceptInput } from './accept-input.ts'
import { endStep } from './begin-step.ts'
import { writeRows } from './call.ts'
import type { Call } from './call.ts'
import { discardCrashed } from './discard.ts'
import { aborted, mayGoOn } from './ending.ts'
import type { Ending } from './ending.ts'
import { cancelOpenCalls } from './finalize.ts'
import { beginGuardrails, openSegment, tellTurnStart } from './open-segment.ts'
import type { Next } from './run-turn.ts'
import { appendResults } from './settle-calls.ts'
import { tellStepEnd } from './settle-step.ts'
import { settleSubmission } from './submission.ts'
import type { Submission } from './submission.ts'
import { turnFingerprint } from './turn-fingerprint.ts'
import type { Turn } from './turn.ts'

/** How a run comes to a turn: with a new input, with inputs that wait in the journal, or because one is open. */
export type TurnEntry = NewTurn | OpenedTurn

export interface NewTurn {
  readonly kind: 'new'
  /** Absent: inputs that wait in the journal begin the turn. */
  readonly message?: UserMessage
  readonly input: AgentInput | undefined
  readonly inputId?: string
  /** The message is in the log already. */
  readonly logged?: LoggedInput | undefined
}

export interface OpenedTurn {
  /** `close`: its calls are cancelled, and it ends. */
  readonly kind: 'resume' | 'close'
  readonly open: OpenTurn
  /** Of the latest answer, while the step has not ended. */
  readonly calls: readonly Call[]
  readonly submission: Submission | undefined
}

export function enterTurn(turn: Turn, entry: TurnEntry): Promise<Next> {
  return entry.kind === 'new' ? beginTurn(turn, entry) : reopenTurn(turn, entry)
}

async function beginTurn(turn: Turn, entry: NewTurn): Promise<Next> {
  const hash = turnFingerprint(turn)
  const fingerprint = hash instanceof Promise ? await hash : hash
  const accepted = acceptInput(turn, entry)
  const handled = accepted instanceof Promise ? await accepted : accepted
  turn.log.begin({ resumed: false, attempt: 1, ...(fingerprint !== undefined && { fingerprint }) })
  if (handled) {
    const ending: Ending = { status: 'completed', reason: 'handled' }
    // Whoever goes on behind a crash must not ask a model about nothing.
    turn.log.writeRun('running', { ending })
    if (turn.isDriven) await turn.boundary()
    await beginGuardrails(turn, false)
    return { phase: 'end', ending }
  }
  turn.log.writeRun('running')
  const opened = openSegment(turn, { input: entry.input, resumed: false, takesInputs: true })
  if (opened instanceof Promise) await opened
  return { phase: 'ask' }
}

/** A further segment of a turn that somebody else, or an earlier run, has left open. */
async function reopenTurn(turn: Turn, { kind, open, calls, submission }: OpenedTurn): Promise<Next> {
  const { cause = 'recovery', attempt = 2, definitionDiff } = open.resume ?? {}
  const fingerprint = await turnFingerprint(turn)
  turn.log.begin({
    ...{ resumed: true, attempt, cause: submission ? 'answers' : cause },
    ...(fingerprint !== undefined && { fingerprint }),
    ...(definitionDiff !== undefined && { definitionDiff }),
  })
  if (kind === 'close' || turn.stop.stopped) {
    const next = await closeTurn(turn, open, calls, submission)
    return kind === 'close' ? { ...next, ending: { ...next.ending, isReplaced: true } } : next
  }
  const hasInputs = await openSegment(turn, { input: undefined, resumed: true, takesInputs: !open.ending || mayGoOn(turn, open.ending) })
  if (open.ending && !hasInputs) return { phase: 'end', ending: open.ending, window: 'turn-start' }
  if (open.ending) turn.log.writeRun('running')
  if (open.openMessageId !== undefined) discardCrashed(turn, open.openMessageId)
  if (submission) await settleSubmission(turn, submission)
  return turn.stepState === 'answered' ? resumeAnswer(turn, calls) : { phase: 'ask' }
}

function resumeAnswer(turn: Turn, calls: readonly Call[]): Next {
  const message = turn.transcript.latestAnswer
  if (!message) throw new TypeError('the journal says that the step is answered, and has no answer')
  return { phase: 'settle', answer: { message, results: new Map() }, calls }
}

/** Of a turn that is stopped before it goes on: answers are taken, and nothing of it runs any more. */
async function closeTurn(turn: Turn, open: OpenTurn, calls: readonly Call[], submission: Submission | undefined): Promise<Extract<Next, { phase: 'end' }>> {
  if (turn.isDriven) await turn.boundary()
  await beginGuardrails(turn, true)
  await tellTurnStart(turn, true)
  if (open.openMessageId !== undefined) discardCrashed(turn, open.openMessageId)
  if (submission) await settleSubmission(turn, submission)
  await tellRetryEnd(turn, endRetry(turn, false))
  await cancelOpenCalls(turn, calls)
  writeRows(turn, calls)
  appendResults(turn, calls)
  const ending = aborted(turn, calls)
  if (turn.stepState !== 'ended') {
    endStep(turn, calls, false)
    turn.log.writeRun('running', { ending })
    if (turn.isDriven) await turn.boundary()
    await tellStepEnd(turn, turn.transcript.latestAnswer, calls)
  }
  return { phase: 'end', ending }
}
