import type { AssistantMessage, ModelError } from '@bowline/llm'
import { judgeAttempt } from '../plugins/retry/judge-attempt.ts'
import type { RetryVerdict } from '../plugins/retry/judge-attempt.ts'
import { beginRetry, endRetry, tellRetryEnd, tellRetryStart } from '../plugins/retry/record-retry.ts'
import { mayWithdrawTurn, messagesOfTurn, messagesToRewind } from '../plugins/retry/rewind.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import type { ModelAnswer } from './answer.ts'
import { callsOf, writeRows } from './call.ts'
import { compactAfterOverflow } from './compaction-phase.ts'
import { discardAttempt, discardMessages } from './discard.ts'
import { aborted, failed } from './ending.ts'
import type { Ending } from './ending.ts'
import { giveUp, leave } from './give-up.ts'
import type { Next } from './run-turn.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** What stands behind an attempt. Undefined: the next one. */
export function followAttempt(turn: Turn, plan: StepPlan, answer: ModelAnswer): Next | Promise<Next | undefined> {
  const verdict = judgeAttempt(turn, plan, answer.message)
  switch (verdict.kind) {
    case 'accept':
      return accept(turn, answer)
    case 'retry':
      return tryAgain(turn, plan, answer, verdict)
    case 'withdraw':
      return withdraw(turn, answer, verdict.error)
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

function accept(turn: Turn, answer: ModelAnswer): Next | Promise<Next> {
  const { message, results } = answer
  const { error, stopReason } = message
  turn.takeAnswer(message)
  const ended = endRetry(turn, stopReason !== 'error' && stopReason !== 'aborted', error)
  // What it cost must not be lost when the process dies before the next boundary.
  turn.log.writeRun('running')
  const calls = callsOf(turn, clientCalls(message))
  // What the function has run itself must not run here, also when the process dies before its result is stored.
  for (const call of calls) if (results.has(call.row.toolCallId)) call.row = { ...call.row, state: 'remote' }
  // An open call is never stored without its row, whatever is asked before it starts.
  writeRows(turn, calls)
  const next: Next = { phase: 'settle', answer, calls }
  return ended || turn.hooks.has('afterModelCall') ? tellAnswer(turn, message, ended).then(() => next) : next
}

async function tellAnswer(turn: Turn, message: AssistantMessage, ended: ReturnType<typeof endRetry>): Promise<void> {
  await tellRetryEnd(turn, ended)
  if (!turn.hooks.has('afterModelCall')) return
  await turn.log.commit()
  await turn.hooks.afterModelCall({ message, usage: message.usage })
}

/** Withdraws the attempt and announces the next one. */
async function tryAgain(turn: Turn, plan: StepPlan, { message }: ModelAnswer, verdict: RetryVerdict): Promise<Next | undefined> {
  const { error, cause } = verdict
  if (cause === 'overflow') discardAttempt(turn, message, 'overflow')
  else discardAttempt(turn, message, 'retry', messagesToRewind(turn))
  const ended = endRetry(turn, false, error)
  const ending = cause === 'overflow' ? await makeRoom(turn, plan, error) : undefined
  if (turn.stop.leaving) return leave(turn)
  if (ending) return giveUp(turn, ending, ended)
  const start = await beginRetry(turn, verdict)
  await tellRetryEnd(turn, ended)
  await tellRetryStart(turn, start)
  return undefined
}

/** Undefined: what did not fit has been compacted. */
async function makeRoom(turn: Turn, plan: StepPlan, error: ModelError): Promise<Ending | undefined> {
  const hasRoom = await compactAfterOverflow(turn, plan.maxTokens)
  if (turn.stop.stopped) return aborted(turn, [])
  if (hasRoom) return undefined
  if (mayWithdrawTurn(turn)) discardMessages(turn, messagesOfTurn(turn), 'failed')
  return failed(turn, error)
}

/** The turn leaves nothing behind: its input is withdrawn too. */
function withdraw(turn: Turn, { message }: ModelAnswer, error: ModelError): Promise<Next> {
  discardAttempt(turn, message, 'failed', messagesOfTurn(turn))
  return giveUp(turn, failed(turn, error), endRetry(turn, false, error))
}
