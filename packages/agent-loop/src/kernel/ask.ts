import type { AssistantMessage } from '@bowline/llm'
import { clientCalls } from '../base/messages.ts'
import { breathe } from '../base/promises.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { DiscardReason } from '../events/message-events.ts'
import { isSuspended } from '../events/status.ts'
import type { TurnError } from '../events/turn-events.ts'
import { cancelledOutcome } from '../tools/outcome.ts'
import { callsOf, writeRows } from './call.ts'
import type { Call } from './call.ts'
import { aborted } from './ending.ts'
import type { TurnOutcome } from './ending.ts'
import { finish } from './finish.ts'
import { callModel } from './model-call.ts'
import { consult } from './plugin.ts'
import { isOpen } from './question.ts'
import type { AnswerVerdict, AttemptEnd, ModelAnswer, Next, RetryEnd, StepPlan } from './subjects.ts'
import type { Turn } from './turn.ts'

/** Begins a step, unless one has begun already, and asks the model for its answer. */
export async function ask(turn: Turn): Promise<Next> {
  const stopped = stopBefore(turn)
  if (stopped) return stopped
  const planned = planOf(turn)
  const plan = planned instanceof Promise ? await planned : planned
  try {
    if (turn.stepState === 'ended') {
      const ended = await openStep(turn, plan)
      if (ended) return ended
    }
    return await attempts(turn, plan)
  } finally {
    for (const asked of turn.plugins.asked.asks) asked(turn)
  }
}

/** Returns what comes next if no step may begin any more, else undefined. */
function stopBefore(turn: Turn): MaybePromise<Next> | undefined {
  if (turn.stop.leaving) return yieldRun(turn)
  return turn.stop.stopped && turn.stepState === 'ended' ? { phase: 'end', outcome: aborted(turn.stop, []) } : undefined
}

function planOf(turn: Turn): MaybePromise<StepPlan> {
  const { models, params } = turn.run
  const plan: StepPlan = { patch: {}, models, model: models[0], params }
  const asked = consult(turn, 'plan', plan)
  return asked instanceof Promise ? asked.then(() => takePlan(turn, plan)) : takePlan(turn, plan)
}

function takePlan(turn: Turn, plan: StepPlan): StepPlan {
  const { activeTools } = plan.patch
  turn.useModel(plan.model)
  turn.activeTools = activeTools && new Set(activeTools)
  return plan
}

/** Returns undefined if the step has begun, else what comes next. */
async function openStep(turn: Turn, plan: StepPlan): Promise<Next | undefined> {
  const asked = consult(turn, 'beforeStep', plan)
  const outcome = asked instanceof Promise ? await asked : asked
  const stopped = stopBefore(turn)
  if (stopped) return stopped
  if (outcome) return { phase: 'end', outcome }
  beginStep(turn)
  if (turn.run.isDriven) await turn.boundary()
  const told = consult(turn, 'onStepStart', turn.step)
  if (told) await told
  const drained = consult(turn, 'drain', 'step-start')
  if (drained instanceof Promise) await drained
  return undefined
}

function beginStep(turn: Turn): void {
  const { info, name } = turn.model
  turn.step++
  turn.attempt = 1
  turn.stepState = 'begun'
  turn.question = undefined
  turn.log.record({
    type: 'step-start',
    step: turn.step,
    contextTokens: turn.contextTokens(),
    model: name,
    ...(info.contextWindow !== undefined && { contextWindow: info.contextWindow }),
  })
  turn.log.writeRun('running')
}

/** Asks the model until it has answered or must not be asked again. */
async function attempts(turn: Turn, plan: StepPlan): Promise<Next> {
  let asked: string | undefined
  for (;;) {
    const waited = consult(turn, 'beforeAttempt', plan)
    const refused = waited instanceof Promise ? await waited : waited
    if (turn.stop.leaving) return yieldRun(turn)
    if (turn.stop.stopped) return giveUp(turn, aborted(turn.stop, []))
    if (refused && isSuspended(refused.status)) {
      // If the same question comes again, the decision has changed nothing: asking in place again would never end.
      const question = turn.question?.row.approval?.inputHash
      if (question !== asked && (await isDecided(turn))) {
        asked = question
        continue
      }
      return turn.stop.leaving ? yieldRun(turn) : { phase: 'end', outcome: refused }
    }
    if (refused) return giveUp(turn, refused)
    beginMessage(turn)
    // Boundary: the model is asked only after this commit.
    await turn.commit()
    const answered = { plan, answer: await callModel(turn, plan) }
    // A journal that publishes deltas has watchers elsewhere: they must get the last deltas before the message is closed.
    const breath = breathe(turn.clock, turn.run.journal.publish !== undefined)
    if (breath) await breath
    for (const count of turn.plugins.count.asks) count(turn, answered)
    const judged = consult(turn, 'answer', answered)
    const verdict = judged instanceof Promise ? await judged : judged
    // Another process asks again: nothing is drafted of an incomplete answer.
    if (turn.stop.leaving && isCutOff(answered.answer)) return { phase: 'yielded' }
    const next = verdict ? await follow(turn, answered.answer, verdict) : accept(turn, answered.answer)
    if (next) return next
  }
}

/** Returns whether the question of the step is decided, or needs no decision any more because the run is stopped. */
async function isDecided(turn: Turn): Promise<boolean> {
  if (!turn.question) return false
  const decided = await consult(turn, 'decide', turn.question)
  return decided === true || turn.stop.stopped
}

function isCutOff({ message: { stopReason } }: ModelAnswer): boolean {
  return stopReason === 'aborted' || stopReason === 'error'
}

function beginMessage(turn: Turn): void {
  turn.messageId = turn.ids.next('msg')
  const { step, messageId, attempt, model, outputMode: output } = turn
  turn.log.record({ type: 'message-start', step, messageId, attempt, model: model.name, ...(output && { output }) })
  turn.log.writeRun('running')
}

/** Drafts the answer and the rows of its calls. */
function accept(turn: Turn, answer: ModelAnswer): MaybePromise<Next> {
  const { message, results } = answer
  const { error, stopReason } = message
  turn.book(message.usage, message.cost)
  turn.log.record({ type: 'message-end', step: turn.step, messageId: message.id, message, attempt: turn.attempt })
  turn.append(message)
  turn.stepState = 'answered'
  turn.answered = true
  const ended = endAttempts(turn, { success: stopReason !== 'error' && stopReason !== 'aborted', error })
  if (answer.cacheMiss) turn.log.record({ type: 'usage', step: turn.step, purpose: 'cache-miss', usage: {}, cacheMiss: answer.cacheMiss })
  // Its cost must not be lost if the process dies before the next boundary.
  turn.log.writeRun('running')
  const calls = callsOf(turn.agent.tools, turn, clientCalls(message))
  // A call whose result came with the answer must not run, even if the process dies before the result is stored.
  if (results.size > 0) for (const call of calls) if (results.has(call.row.toolCallId)) call.row = { ...call.row, state: 'remote' }
  // An open call must never be stored without its row, whatever is asked before it starts.
  writeRows(turn, calls)
  const next: Next = { phase: 'settle', answer, calls }
  if (!ended && turn.plugins.onAnswer.asks.length === 0) return next
  return tellAnswer(turn, message, ended).then(() => next)
}

async function tellAnswer(turn: Turn, message: AssistantMessage, ended: RetryEnd | undefined): Promise<void> {
  await tellAttemptEnd(turn, ended)
  await consult(turn, 'onAnswer', message)
}

/** Returns undefined if another attempt follows. */
async function follow(turn: Turn, answer: ModelAnswer, verdict: AnswerVerdict): Promise<Next | undefined> {
  const { error, withdraw } = verdict
  if (verdict.kind === 'fail') {
    discardAttempt(turn, answer, 'failed', withdraw)
    return giveUp(turn, verdict.outcome, endAttempts(turn, { success: false, error }))
  }
  discardAttempt(turn, answer, verdict.cause === 'overflow' ? 'overflow' : 'retry', withdraw)
  const ended = endAttempts(turn, { success: false, error })
  const outcome = verdict.prepare && !(await verdict.prepare()) ? unprepared(turn, error) : undefined
  if (turn.stop.leaving) return yieldRun(turn)
  if (turn.stop.stopped && verdict.prepare) return giveUp(turn, aborted(turn.stop, []), ended)
  if (outcome) return giveUp(turn, outcome, ended)
  const start = await consult(turn, 'nextAttempt', verdict)
  await tellAttemptEnd(turn, ended)
  if (start) await consult(turn, 'onRetryStart', start)
  return undefined
}

/** Ends the turn with the error of an attempt that cannot be made again. Returns undefined if the run is stopped. */
function unprepared(turn: Turn, error: TurnError): TurnOutcome | undefined {
  if (turn.stop.stopped) return undefined
  for (const ask of turn.plugins.withdrawable.asks) discardMessages(turn, ask(turn, undefined) ?? [], 'failed')
  return failed(turn, error)
}

/** Returns the outcome of a turn that a model error ends. */
export function failed(turn: Turn, error: TurnError | undefined): TurnOutcome {
  const failure = { error }
  for (const add of turn.plugins.failing.asks) add(turn, failure)
  return { status: 'error', reason: 'model-error', ...(failure.error && { error: failure.error }) }
}

/** Withdraws a failed attempt: it never enters the transcript, and its cost is booked separately. */
function discardAttempt(turn: Turn, { message, cacheMiss }: ModelAnswer, reason: DiscardReason, further: readonly string[]): void {
  const { id, usage, cost } = message
  const { step, attempt, model } = turn
  turn.log.record({ type: 'message-discarded', step, messageId: id, reason, attempt })
  discardMessages(turn, further, reason === 'failed' ? 'failed' : 'rewind')
  turn.bookApart('discarded-attempt', usage, cost, { model, cacheMiss })
}

/** Withdraws messages of the transcript. */
function discardMessages(turn: Turn, messageIds: readonly string[], reason: DiscardReason): void {
  for (const messageId of messageIds) turn.log.record({ type: 'message-discarded', step: turn.step, messageId, reason })
  turn.discard(messageIds)
}

/** Drafts the end of an announced attempt. Returns undefined if none was announced. */
export function endAttempts(turn: Turn, end: AttemptEnd): RetryEnd | undefined {
  let ended: RetryEnd | undefined
  for (const ask of turn.plugins.attemptEnd.asks) ended = ask(turn, end) ?? ended
  return ended
}

/** Notifies plug-ins of the end of an attempt, once it is stored. */
export async function tellAttemptEnd(turn: Turn, ended: RetryEnd | undefined): Promise<void> {
  if (ended) await consult(turn, 'onRetryEnd', ended)
}

/** Ends the step without an answer. Plug-ins are notified of `ended` once it is stored, together with the outcome of the turn. */
async function giveUp(turn: Turn, outcome: TurnOutcome, ended = endAttempts(turn, { success: false })): Promise<Next> {
  if (isOpen(turn.question)) await finish(turn, turn.question, cancelledOutcome('the turn has ended', 'no'))
  endStep(turn, [], false)
  // If the process dies before the end of the turn is stored, no other step may follow this one.
  turn.log.writeRun('running', { ending: outcome })
  await tellAttemptEnd(turn, ended)
  if (turn.run.isDriven) await turn.boundary()
  return { phase: 'end', outcome }
}

/** Drafts the end of the current step. */
export function endStep(turn: Turn, calls: readonly Call[], continues: boolean): void {
  turn.log.record({ type: 'step-end', step: turn.step, toolCalls: calls.length, continues })
  turn.earlierCalls += calls.length
  turn.stepState = 'ended'
}

/** Leaves the turn to another process: stores what is drafted, but nothing that would end the step. */
export async function yieldRun(turn: Turn): Promise<Next> {
  await turn.commit()
  return { phase: 'yielded' }
}
