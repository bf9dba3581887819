import type { AssistantMessage, JSONValue, SchemaIssue, SchemaResult } from '@bowline/llm'
import { textOf } from '../base/messages.ts'
import type { MaybePromise } from '../base/promises.ts'
import { isSuspended } from '../events/status.ts'
import { cancelledOutcome, errorOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { cutMiddle } from '../tools/output.ts'
import { validate } from '../tools/tool.ts'
import { endStep, failed, yieldRun } from './ask.ts'
import { awaitsApproval, describeCall, isSettled, pendingToolCalls, timesOf, writeRows } from './call.ts'
import type { Call, Prepared, SideWork } from './call.ts'
import { aborted, answeredOutcome, modelWouldStop, suspended } from './ending.ts'
import type { TurnOutcome } from './ending.ts'
import { execute } from './execute.ts'
import { cancelOpenCalls, conclude, finish } from './finish.ts'
import { consult, isForeign } from './plugin.ts'
import type { EndedStep, ModelAnswer, Next } from './subjects.ts'
import type { Turn } from './turn.ts'

const askNext: Next = { phase: 'ask' }

/** Brings the calls of an answer to their outcomes and ends the step, unless a call waits for an answer from outside. */
export async function settle(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<Next> {
  if (calls.length > 0) await settleCalls(turn, answer, calls)
  if (turn.stop.leaving) return yieldRun(turn)
  const step: EndedStep = { answer: answer.message, calls, outcome: outcomeOf(turn, answer.message, calls) }
  const asked = consult(turn, 'afterStep', step)
  if (asked instanceof Promise) await asked
  if (turn.stop.leaving) return yieldRun(turn)
  const { outcome } = step
  if (outcome && isSuspended(outcome.status)) return { phase: 'end', outcome }
  endStep(turn, calls, !outcome)
  // If the process dies before the end of the turn is stored, no other step may follow this one.
  if (outcome) turn.log.writeRun('running', { ending: outcome })
  if (turn.run.isDriven) await turn.boundary()
  await tellStepEnd(turn, answer.message, calls)
  return afterStep(turn, outcome, calls)
}

/** Returns the outcome with which the turn ends, or undefined if the model is to be asked again. */
function outcomeOf(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): TurnOutcome | undefined {
  if (answer.stopReason === 'error') return failed(turn, answer.error)
  if (answer.stopReason === 'aborted') return aborted(turn.stop, calls)
  if (calls.length === 0 && !answer.paused && turn.bufferedAnswers.length === 0) return answeredOutcome(answer)
  if (turn.stop.stopped) return aborted(turn.stop, calls)
  return calls.some((call) => !isSettled(call)) ? suspended(calls) : undefined
}

export async function tellStepEnd(turn: Turn, answer: AssistantMessage | undefined, calls: readonly Call[]): Promise<void> {
  if (turn.plugins.onStepEnd.asks.length === 0) return
  await consult(turn, 'onStepEnd', { step: turn.step, toolCalls: calls.map(describeCall), text: textOf(answer) })
}

/** Adds inputs after a step. At a final answer an input causes one more step, if one more is allowed. */
async function afterStep(turn: Turn, outcome: TurnOutcome | undefined, calls: readonly Call[]): Promise<Next> {
  if (turn.stop.leaving) return yieldRun(turn)
  if (!outcome) {
    if (turn.stop.stopped) return { phase: 'end', outcome: aborted(turn.stop, calls) }
    const drained = consult(turn, 'drain', 'step-end')
    if (drained instanceof Promise) await drained
    return askNext
  }
  return modelWouldStop(outcome) && (await drainMore(turn, 'step-end')) ? askNext : { phase: 'end', outcome }
}

/** Returns whether inputs came that one more step can show the model. */
export async function drainMore(turn: Turn, slot: 'turn-start' | 'step-start' | 'step-end'): Promise<boolean> {
  if (turn.step >= turn.run.limits.maxSteps || turn.stop.requested) return false
  const hasInputs = await consult(turn, 'drain', slot)
  // Removes the stored outcome: the turn does not end now.
  if (hasInputs) turn.log.writeRun('running')
  return hasInputs === true
}

/** Queues work that arrives while the loop is busy. At most one item per running call can wait. */
class Arrivals {
  #items: (() => MaybePromise<void>)[] = []
  #notify: (() => void) | undefined

  readonly push = (take: () => MaybePromise<void>): void => {
    this.#items.push(take)
    this.#notify?.()
  }

  /** Does all queued work. Waits for the first item if the queue is empty. */
  async take(): Promise<void> {
    if (this.#items.length === 0) await new Promise<void>((resolve) => (this.#notify = resolve))
    this.#notify = undefined
    for (const take of this.#items.splice(0)) {
      const done = take()
      if (done) await done
    }
  }
}

/**
 * Brings the calls of an answer to their outcomes: calls that run here to their end, others as far as this process can. A tool
 * starts after the commit that holds its intent. The last outcomes stay in the draft, to be stored with what follows them.
 */
async function settleCalls(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<void> {
  // In call order, so that what plug-ins see does not depend on how long each call takes.
  for (const call of calls) {
    const prepared = prepare(turn, answer, call)
    if (prepared) await prepared
  }
  const arrivals = new Arrivals()
  const again = (call: Call): MaybePromise<void> => prepare(turn, answer, call)
  let announced = ''
  for (;;) {
    if (turn.stop.stopped) await cancelOpenCalls(turn, calls)
    const starting = turn.stop.requested ? [] : startable(calls, turn.agent.toolConcurrency)
    const beside = turn.stop.requested ? [] : workBeside(turn, calls)
    for (const call of starting) start(turn, call)
    writeRows(turn, calls)
    if (!calls.some((call) => call.running)) break
    if (calls.length > 1) announced = announce(turn, calls, announced)
    // Boundary: the intent is durable before the effect.
    await turn.commit()
    for (const call of starting) {
      void execute(turn, call, arrivals.push).then(
        (execution) => arrivals.push(() => conclude(turn, call, execution)),
        (error: unknown) => arrivals.push(() => conclude(turn, call, { kind: 'threw', error, timedOut: false })),
      )
    }
    for (const work of beside) {
      void work.start().then(
        (take) => arrivals.push(() => doThen(take(), () => again(work.call))),
        (error: Error) => arrivals.push(() => Promise.reject(error)),
      )
    }
    await arrivals.take()
  }
  appendResults(turn, calls)
}

/**
 * Drafts the calls that can be answered from outside while others run here, unless they are the `announced` ones. Returns their ids.
 */
function announce(turn: Turn, calls: readonly Call[], announced: string): string {
  if (!calls.some(({ row, below }) => row.state === 'remote' || below)) return announced
  const pending = pendingToolCalls(calls).filter(({ unknown }) => !unknown)
  const ids = pending.map(({ path, toolCallId }) => [...path, toolCallId].join('/')).join(' ')
  if (pending.length === 0 || ids === announced || turn.stop.requested) return announced
  turn.log.record({ type: 'awaiting-tools', step: turn.step, pendingToolCalls: pending, continues: true })
  turn.log.writeRun('running', { pendingToolCalls: pending })
  return ids
}

function doThen(done: MaybePromise<void>, then: () => MaybePromise<void>): MaybePromise<void> {
  return done instanceof Promise ? done.then(then) : then()
}

function workBeside(turn: Turn, calls: readonly Call[]): readonly SideWork[] {
  const found: SideWork[] = []
  for (const ask of turn.plugins.beside.asks) found.push(...(ask(turn, calls) ?? []))
  return found
}

function start(turn: Turn, call: Call): void {
  call.running = true
  if (call.entering) {
    call.entering = false
    call.below = undefined
    return
  }
  const attempt = call.row.attempt + 1
  const childKey = call.tool?.subagent && turn.plugins.delegation?.keyOf(turn, call)
  call.row = { ...call.row, state: 'started', attempt, ...timesOf(call, turn.clock.now()), ...(childKey !== undefined && { childKey }) }
  const { toolCallId, toolName, idempotencyKey, effect, input = call.part.input } = call.row
  const label = call.tool?.label
  turn.log.record({
    type: 'tool-execution-start',
    step: turn.step,
    toolCallId,
    toolName,
    input,
    ...(label !== undefined && { label }),
    attempt,
    idempotencyKey,
    effect,
  })
}

/**
 * Returns the calls that may start now, or enter their subagent again, in call order. A sequential call waits for all earlier calls
 * and holds back all later ones. Calls that were given away do not count here; calls that wait for a decision do. A subagent that
 * waits for money is entered once no other call is running, because another call may have got some.
 */
export function startable(calls: readonly Call[], toolConcurrency: number): readonly Call[] {
  const busy = new Map<Call['tool'], number>()
  const chosen: Call[] = []
  let places = toolConcurrency
  for (const { tool, row, running } of calls) {
    // A call whose question is being asked is running too, but takes no place.
    if (!running || row.state !== 'started') continue
    places--
    busy.set(tool, (busy.get(tool) ?? 0) + 1)
  }
  let openBefore = false
  for (const call of calls) {
    if (chosen.length >= places) break
    if (isSettled(call) || call.row.state === 'remote') continue
    const { tool, row } = call
    if (call.entering && call.below?.pendingApprovals.some(({ about }) => about === 'budget') && (busy.size > 0 || chosen.length > 0))
      continue
    if (row.state === 'pending' || call.entering) {
      if (tool?.sequential && openBefore) break
      if (!awaitsApproval(call) && (busy.get(tool) ?? 0) < (tool?.concurrency ?? Infinity)) {
        chosen.push(call)
        busy.set(tool, (busy.get(tool) ?? 0) + 1)
      }
    }
    if (tool?.sequential) break
    openBefore = true
  }
  return chosen
}

/**
 * Adds the results to the transcript together, in call order, when the last one has arrived. An earlier segment may have done so.
 */
export function appendResults(turn: Turn, calls: readonly Call[]): void {
  const results = calls.flatMap((call) => call.row.outcome ?? [])
  if (results.length < calls.length || !turn.transcript.openAnswer) return
  for (const result of results) turn.append(result)
  for (const tell of turn.plugins.results.asks) tell(turn, calls)
}

/** Finds out what to do next with a call, as far as it can be known now. */
function prepare(turn: Turn, answer: ModelAnswer, call: Call): MaybePromise<void> {
  if (isSettled(call) || turn.stop.requested) return undefined
  if (isForeign(turn.plugins.beforeCall, call)) return turn.commit().then(() => judge(turn, answer, call))
  return judge(turn, answer, call)
}

function judge(turn: Turn, answer: ModelAnswer, call: Call): MaybePromise<void> {
  const verdict = isNew(call, answer) ? prepareNew(turn, answer.message, call) : reenter(turn, answer, call)
  return verdict instanceof Promise ? verdict.then((known) => apply(turn, call, known)) : apply(turn, call, verdict)
}

function isNew({ row }: Call, { results }: ModelAnswer): boolean {
  return row.state === 'pending' && row.approval === undefined && !results.has(row.toolCallId)
}

async function reenter(turn: Turn, answer: ModelAnswer, call: Call): Promise<Prepared | undefined> {
  const known = await consult(turn, 'reenter', { call, answer })
  return known === 'waits' ? undefined : (known ?? prepareNew(turn, answer.message, call))
}

function apply(turn: Turn, call: Call, verdict: Prepared | undefined): MaybePromise<void> {
  // If the run yields, another process asks again. If the run is stopped, only an outcome counts.
  if (!verdict || turn.stop.leaving || (turn.stop.stopped && verdict.kind !== 'settled')) return undefined
  switch (verdict.kind) {
    case 'settled':
      return finish(turn, call, verdict.outcome)
    case 'ready':
      if (call.row.state !== 'pending') call.row = pendingAgain(call.row)
      return undefined
    case 'remote':
      call.row = { ...call.row, state: 'remote', ...timesOf(call, turn.clock.now()) }
      return undefined
    case 'approval':
      return askFor(turn, call, verdict.approval)
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

function pendingAgain({ deadlineAt: _before, ...row }: Call['row']): Call['row'] {
  return { ...row, state: 'pending' }
}

function askFor(turn: Turn, call: Call, approval: Extract<Prepared, { kind: 'approval' }>['approval']): void {
  const timeoutMs = call.tool?.approvalTimeoutMs
  const deadline = typeof timeoutMs === 'number' ? { deadlineAt: turn.clock.now() + timeoutMs } : {}
  call.row = { ...call.row, approval, ...deadline }
  tellQuestion(turn, call)
}

/** Drafts an approval request. */
export function tellQuestion(turn: Turn, call: Call): void {
  const { toolCallId, toolName, about, approval, deadlineAt } = call.row
  if (!approval) return
  const { approvalId, input, inputHash, replaces } = approval
  turn.log.record({
    type: 'approval-requested',
    step: turn.step,
    approvalId,
    toolCallId,
    toolName,
    input,
    inputHash,
    path: [],
    ...(replaces !== undefined && { replaces }),
    ...(about !== undefined && { about }),
    ...(deadlineAt !== undefined && { deadlineAt }),
  })
  // An event and its row must be in the same commit.
  writeRows(turn, [call])
}

const shownCharacters = 2_000

/** Decides about a new call: the first objection settles it. */
function prepareNew(turn: Turn, answer: AssistantMessage, call: Call): MaybePromise<Prepared | undefined> {
  // Plug-ins must see the input from the model, not what they have made of it before.
  if (call.row.input !== undefined) call.row = withoutInput(call.row)
  const refused = refusedByAnswer(answer) ?? refusedByCall(call) ?? refusal(turn, call)
  if (refused) return { kind: 'settled', outcome: refused }
  const checked = validateInput(turn, call)
  return checked instanceof Promise ? checked.then((known) => known ?? allowed(turn, call)) : (checked ?? allowed(turn, call))
}

function allowed(turn: Turn, call: Call): MaybePromise<Prepared> {
  const asked = consult(turn, 'beforeCall', call, true)
  return asked instanceof Promise ? asked.then((known) => known ?? runnable(call)) : (asked ?? runnable(call))
}

/** Prepares a call that was allowed earlier: only its input is read again. */
export function prepareAgain(turn: Turn, call: Call): MaybePromise<Prepared> {
  if (!call.tool) return { kind: 'settled', outcome: noSuchTool(call) }
  const checked = validateInput(turn, call)
  return checked instanceof Promise ? checked.then((known) => known ?? runnable(call)) : (checked ?? runnable(call))
}

function withoutInput({ input: _changed, ...row }: Call['row']): Call['row'] {
  return row
}

function runnable({ tool }: Call): Prepared {
  return tool?.execute || tool?.subagent ? { kind: 'ready' } : { kind: 'remote' }
}

function refusedByAnswer({ stopReason }: AssistantMessage): Outcome | undefined {
  switch (stopReason) {
    case 'stop':
    case 'tool-calls':
      return undefined
    case 'length':
      return errorOutcome('not run: the answer was cut off at its length limit, so its calls may be incomplete', 'no')
    case 'error':
      return cancelledOutcome('the answer failed', 'no')
    case 'aborted':
      return cancelledOutcome('the answer was stopped', 'no')
    default: {
      const unknown: never = stopReason
      return unknown
    }
  }
}

/** Refuses broken arguments: they are never repaired. */
function refusedByCall({ part }: Call): Outcome | undefined {
  if (!part.invalid) return undefined
  const received = cutMiddle(part.inputText ?? '', shownCharacters)
  return errorOutcome(`the arguments are not valid (${part.invalid}); received: ${received}`, 'no')
}

function refusal(turn: Turn, call: Call): Outcome | undefined {
  for (const refuse of turn.plugins.refuse.asks) {
    const refused = refuse(turn, call)
    if (refused) return refused
  }
  const { agent, activeTools, plugins } = turn
  const { toolName } = call.part
  if (!call.tool) return noSuchTool(call)
  if (activeTools && !activeTools.has(toolName)) return errorOutcome(`the tool "${toolName}" is not active in this step`, 'no')
  if (agent.allowed && !agent.allowed.has(toolName)) return errorOutcome(`the tool "${toolName}" may not be used here`, 'no')
  return call.tool.subagent && plugins.delegation?.refuse(turn, call)
}

function noSuchTool({ part }: Call): Outcome {
  return errorOutcome(`there is no tool named "${part.toolName}"`, 'no')
}

/** Puts the validated input into the call, or returns what is wrong with it. */
function validateInput({ stop }: Turn, call: Call): MaybePromise<Prepared | undefined> {
  const input = call.row.input ?? call.part.input
  const checked = validate(call.tool, input)
  if (!(checked instanceof Promise)) return takeInput(call, input, checked)
  return stop.until(checked).then(
    (result) => takeInput(call, input, result),
    () => ({ kind: 'settled', outcome: cancelledOutcome('the run was stopped', 'no') }),
  )
}

function takeInput(call: Call, input: JSONValue, checked: SchemaResult): Prepared | undefined {
  if (!checked.ok) return { kind: 'settled', outcome: errorOutcome(invalidInput(checked.issues, input), 'no') }
  call.input = checked.value
  return undefined
}

function invalidInput(issues: readonly SchemaIssue[], input: JSONValue): string {
  const lines = issues.map(({ path, message }) => `${path === '' ? '(input)' : path}: ${message}`)
  return ['the arguments are not valid:', ...lines, `received: ${cutMiddle(JSON.stringify(input), shownCharacters)}`].join('\n')
}
