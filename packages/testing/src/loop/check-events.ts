import { isRecord } from '@bowline/agent-loop/internal'
import type { AgentEvent, DeltaEvent, DurableEvent, TurnEndEvent } from '@bowline/agent-loop'
import { isBoundary, isDelta, isDurable } from '@bowline/agent-loop'
import { callRules } from './grammar/call-rules.ts'
import { move, notAllowedHere, notOpenApproval, startOfLog, wrongTurn } from './grammar/log-state.ts'
import type { GrammarOptions, LogState, Must, Rule, Rules } from './grammar/log-state.ts'
import { messageRules } from './grammar/message-rules.ts'
import { turnRules } from './grammar/turn-rules.ts'
import { checkBoolean, checkKeys, checkRequired } from './checks.ts'

/** Tells how complete the log is that `checkEvents` checks. */
export interface CheckEventsOptions {
  /** True: every delta is there, as in the log of a `recordingJournal`; a reader may have missed some. Default false. */
  readonly allDeltas?: boolean
  /** True: the log may stop anywhere, as after a crash. Default false. */
  readonly unfinished?: boolean
}

/** Checks a log against the grammar of events. Returns the problems in order; the list is empty if the log is correct. */
export function checkEvents(events: readonly AgentEvent[], options: CheckEventsOptions = {}): readonly string[] {
  checkRequired('events', events, 'a list of events', Array.isArray)
  for (const [place, event] of events.entries()) checkRequired(`events[${place}]`, event, 'an event', isRecord)
  checkKeys('checkEvents.options', options, ['allDeltas', 'unfinished'])
  checkBoolean('allDeltas', options.allDeltas)
  checkBoolean('unfinished', options.unfinished)
  const problems: string[] = []
  const log = startOfLog()
  let seq: number | undefined
  let isKnown: boolean | undefined
  for (const [place, event] of events.entries()) {
    const say = (problem: string): void => void problems.push(`${place} ${event.type}: ${problem}`)
    if (!isDelta(event) && !isDurable(event)) {
      say('the event type is unknown')
      continue
    }
    if (isDelta(event) && event.seq !== undefined) say(`has seq ${event.seq}, but a delta must have none`)
    // An error of a failing journal cannot be stored.
    if (isDurable(event) && !(event.type === 'error' && event.source === 'journal')) {
      if (event.seq === undefined) say('has no seq, but a durable event must have one')
      else if (seq !== undefined && event.seq !== seq + 1) say(`has seq ${event.seq}, expected ${seq + 1}`)
      seq = event.seq ?? seq
    }
    isKnown ??= !(event.type === 'turn-start' && event.resumed)
    isKnown ||= findPlace(log, event)
    if (!isKnown) continue
    const must: Must = (holds, problem) => void (holds || say(problem))
    if (isDelta(event)) takeDelta(log, event, must)
    else takeDurable(log, event, must, { allDeltas: options.allDeltas ?? false })
  }
  if (!options.unfinished && log.place !== 'outside')
    problems.push(`end: the log stops after ${log.previous ?? 'no event'}, within a ${log.compaction ? 'compaction' : 'turn'}`)
  return problems
}

const rules: Rules<DurableEvent['type']> = { ...turnRules, ...messageRules, ...callRules }

/** Other parts of the system write these events: the rules for neighbouring events ignore them. */
const anywhere: ReadonlySet<string> = new Set([
  'session-start',
  'session-end',
  'run-queued',
  'branch-switched',
  'orchestration-step',
  'error',
])

/** They name the turn that delegated the work, whatever is open by now. */
const ofChildren: ReadonlySet<string> = new Set(['child-start', 'child-update', 'child-end'])

/**
 * Their `step` is not the open step: it is that of a child, of an earlier message, or of the step that begins; a compaction may
 * have none.
 */
const withoutStep: ReadonlySet<string> = new Set(['child-update', 'message-discarded', 'step-start', 'compaction-start', 'compaction-end'])

/**
 * Finds the beginning in a log that is read from a later segment on: nothing can be checked before its first step, nor the cost of
 * its turn.
 */
function findPlace(log: LogState, event: AgentEvent): boolean {
  if (event.type === 'user-message' || (event.type === 'turn-start' && !event.resumed)) return true
  if (event.type !== 'step-start') return false
  move(log, {
    place: 'turn',
    runId: event.runId,
    turn: event.turn,
    step: event.step - 1,
    hasInput: true,
    spent: undefined,
    isPartial: true,
  })
  return true
}

function takeDelta(log: LogState, event: DeltaEvent, must: Must): void {
  if (event.type === 'tool-execution-delta') {
    return must(log.calls.get(event.toolCallId)?.running === true, `the call ${event.toolCallId} is not running`)
  }
  if (log.message?.id !== event.messageId || log.message.lost) return must(false, `the message ${event.messageId} is not open`)
  const problem = log.message.blocks.check(event)
  must(problem === undefined, problem ?? '')
}

/** Requests of background runs, and their ends, may come anywhere. */
function takeBackground(log: LogState, event: DurableEvent, must: Must): void {
  if (event.type === 'approval-requested') {
    must(!log.usedIds.has(event.approvalId), `the approval id ${event.approvalId} is already used`)
    log.usedIds.add(event.approvalId)
    log.asked.add(event.approvalId)
  }
  if (event.type === 'approval-resolved') must(log.asked.delete(event.approvalId), notOpenApproval(event.approvalId))
}

function takeDurable(log: LogState, event: DurableEvent, must: Must, options: GrammarOptions): void {
  if ('background' in event) return takeBackground(log, event, must)
  if (event.type === 'error' && event.path) return
  if (event.type === 'turn-end' && log.place !== 'closing' && event.runId !== log.runId) {
    return endUnbegun(log, event, must)
  }
  leaveLostCompaction(log, event)
  const isLast = log.previous === 'awaiting-tools' && !log.continues
  const rule = rules[event.type] as Rule<DurableEvent>
  must(rule.at.includes(log.place), notAllowedHere(log))
  must(
    !isLast || event.type === 'turn-end' || anywhere.has(event.type) || ofChildren.has(event.type),
    'is not allowed between awaiting-tools and turn-end',
  )
  if (!ofChildren.has(event.type)) checkPosition(log, event, must)
  rule.take(log, event, must, options)
  if (anywhere.has(event.type) || ofChildren.has(event.type)) return
  if (event.type !== 'runtime-input' && !isBoundary(event)) log.window = undefined
  log.previous = event.type
}

/** Checks the end of a run that never began: it was stopped, or could not be executed. */
function endUnbegun(log: LogState, { runId, status, steps }: TurnEndEvent, must: Must): void {
  log.queued.delete(runId)
  must(
    (status === 'aborted' || status === 'error') && steps === 0,
    `names the run ${runId}, expected ${log.runId ?? 'no turn-end'}: another run may end here only as aborted or error with 0 steps`,
  )
  if (log.place === 'outside') log.previous = 'turn-end'
}

/** Leaves a compaction whose process died in it. */
function leaveLostCompaction(log: LogState, event: DurableEvent): void {
  const begins = event.type === 'user-message' || event.type === 'turn-start' || event.type === 'compaction-start'
  if (log.compaction && begins) move(log, { place: log.compaction.from, compaction: undefined })
}

/** Checks that events in a turn name the turn, and the open step. */
function checkPosition(log: LogState, event: DurableEvent, must: Must): void {
  const begins = event.type === 'user-message' || event.type === 'turn-start'
  if (begins || log.place === 'outside' || log.compaction?.from === 'outside' || !('runId' in event) || event.type === 'run-queued') return
  const inside = log.place !== 'input'
  const isOfTurn = event.runId === log.runId && (!inside || event.turn === log.turn)
  must(isOfTurn, inside ? wrongTurn(log, event) : `names the run ${event.runId}, expected ${log.runId ?? 'none'}`)
  if (!('step' in event) || withoutStep.has(event.type)) return
  must(event.step === log.step, `names step ${event.step}, expected ${log.step}`)
}
