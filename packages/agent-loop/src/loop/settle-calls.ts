import type { AssistantMessage } from '@bowline/llm'
import { isSettled, writeRows } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { execute } from '../tools/execute.ts'
import type { Execution } from '../tools/execute.ts'
import { conclude, finalize, stoppedOutcome } from '../tools/finalize.ts'
import { cancelledOutcome, errorOutcome } from '../tools/outcome.ts'
import { prepare } from '../tools/prepare.ts'
import type { Prepared } from '../tools/prepare.ts'
import { recover } from '../tools/recover.ts'
import { startable } from '../tools/schedule.ts'
import { Arrivals } from './arrivals.ts'
import { isOverdue } from './submission.ts'
import type { Turn } from './turn.ts'

/**
 * Brings the calls of an answer to their outcomes: those that run here to the end, others only as far as this process
 * can. A tool starts when the commit that holds its intent has resolved. The last outcomes are left in the draft, to be
 * stored with what follows them.
 */
export async function settleCalls(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): Promise<void> {
  await prepareCalls(turn, answer, calls)
  const arrivals = new Arrivals<{ readonly call: Call; readonly execution: Execution }>()
  for (;;) {
    if (turn.stop.stopped) cancelWaiting(turn, calls)
    const starting = turn.stop.signal.aborted ? [] : startable(calls, turn.agent.toolConcurrency)
    for (const call of starting) start(turn, call)
    writeRows(turn, calls)
    if (!calls.some((call) => call.running)) break
    await turn.commit()
    for (const call of starting) void execute(turn, call).then((execution) => arrivals.push({ call, execution }))
    for (const { call, execution } of await arrivals.take()) conclude(turn, call, execution)
  }
  if (!turn.stop.leaving) appendResults(turn, calls)
}

/** All together: what was asked does not depend on the order in which it is found out. */
async function prepareCalls(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): Promise<void> {
  const open = calls.filter((call) => !isSettled(call))
  const verdicts = await Promise.all(open.map((call) => verdictOf(turn, answer, call)))
  for (const [place, call] of open.entries()) {
    const verdict = verdicts[place]
    if (verdict) apply(turn, call, verdict)
  }
}

/** What becomes of a call next. Undefined: it waits as it did. */
async function verdictOf(turn: Turn, answer: AssistantMessage, call: Call): Promise<Prepared | undefined> {
  if (call.row.state === 'remote') {
    const overdue = isOverdue(turn, call)
    return overdue ? { kind: 'settled', outcome: errorOutcome('no result came before its deadline', 'no') } : undefined
  }
  const prepared = await prepare(turn, answer, call)
  if (prepared.kind === 'ready') call.input = prepared.input
  if (call.row.state === 'pending') return prepared
  const recovery = await recover(turn, call)
  if (recovery.kind === 'again') return prepared
  return recovery.kind === 'settled' ? recovery : undefined
}

function apply(turn: Turn, call: Call, verdict: Prepared): void {
  switch (verdict.kind) {
    case 'settled':
      return finalize(turn, call, verdict.outcome)
    case 'ready':
      if (call.row.state !== 'pending') call.row = { ...call.row, state: 'pending' }
      return
    case 'remote':
      call.row = { ...call.row, state: 'remote', ...times(turn, call) }
      return
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

function start(turn: Turn, call: Call): void {
  const attempt = call.row.attempt + 1
  call.row = { ...call.row, state: 'started', attempt, ...times(turn, call) }
  call.running = true
  const { toolCallId, toolName, idempotencyKey, effect } = call.row
  const label = call.tool?.label
  turn.record({
    ...{ type: 'tool-execution-start', step: turn.step, toolCallId, toolName, input: call.part.input },
    ...(label !== undefined && { label }),
    ...{ attempt, idempotencyKey, effect },
  })
}

function times(turn: Turn, call: Call): { startedAt: number; deadlineAt?: number } {
  const startedAt = turn.clock.now()
  const timeoutMs = call.tool?.timeoutMs
  return typeof timeoutMs === 'number' ? { startedAt, deadlineAt: startedAt + timeoutMs } : { startedAt }
}

/** Of a run that is being stopped: what does not run here ends at once. */
function cancelWaiting(turn: Turn, calls: readonly Call[]): void {
  for (const call of calls) {
    if (isSettled(call) || call.running) continue
    const { state } = call.row
    finalize(turn, call, state === 'started' ? stoppedOutcome(call) : cancelledOutcome('the run was stopped', 'no'))
  }
}

/** Results enter the transcript together, in call order, with the last of them. */
function appendResults(turn: Turn, calls: readonly Call[]): void {
  const results = calls.flatMap((call) => call.row.outcome ?? [])
  if (results.length < calls.length) return
  for (const result of results) turn.append(result)
}
