import { canonicalJson, isSuspended } from '@bowline/agent-loop'
import type { TurnEndEvent, TurnStartEvent, UsageEvent } from '@bowline/agent-loop'
import { sumCost, sumUsage } from '@bowline/agent-loop/internal'
import { inTurn, move, noRetryEnd, notAllowedHere, openApprovals, wrongTurn } from './log-state.ts'
import type { LogState, Must, Place, Rule, Rules } from './log-state.ts'

const nearlyAnywhere: readonly Place[] = ['outside', 'input', ...inTurn, 'compacting']
const afterTurnStart: readonly Place[] = ['outside', ...inTurn, 'compacting']
const free = (at: readonly Place[]): Rule<unknown> => ({ at, take: () => undefined })

/** Events that can be the last one of a run before the session settles. */
const ends: ReadonlySet<string | undefined> = new Set(['save-point', 'compaction-end', 'turn-end'])

/** Rules for sessions, runs, turns and steps. */
export const turnRules: Rules<
  | ('session-start' | 'session-end' | 'run-queued' | 'branch-switched' | 'orchestration-step' | 'error')
  | ('user-message' | 'runtime-input' | 'turn-start' | 'turn-end' | 'step-start' | 'step-end' | 'save-point' | 'settled')
> = {
  'session-start': free(['outside']),
  'session-end': free(nearlyAnywhere),
  'run-queued': { at: nearlyAnywhere, take: (log, { runId }) => void log.queued.add(runId) },
  'branch-switched': { at: ['outside'], take: (log) => void (log.turn = 0) },
  'orchestration-step': free(afterTurnStart),
  error: free(afterTurnStart),
  'user-message': {
    at: ['outside', 'input'],
    take(log, { runId, messageId, message }, must) {
      must(!log.waits, 'is not allowed while a turn is suspended')
      must(
        log.place === 'outside' || log.previous === 'message-discarded',
        'is a second input without a message-discarded for the first one',
      )
      must(
        message.id === messageId && !log.usedIds.has(messageId),
        message.id === messageId
          ? `the message id ${messageId} is already used`
          : `has message.id ${message.id}, expected the messageId ${messageId}`,
      )
      log.usedIds.add(messageId)
      log.queued.delete(runId)
      move(log, { place: 'input', runId, hasInput: true, messages: new Set([messageId]) })
    },
  },
  'runtime-input': {
    at: inTurn,
    take(log, { source, placement, message }, must) {
      must(
        log.window === placement,
        `has placement "${placement}", ${log.window ? `expected "${log.window}"` : 'but no input is allowed here'}`,
      )
      log.hasInput = true
      must(
        (source === 'overlay') === (message === undefined),
        message
          ? 'has source "overlay" and a message, but an overlay must have none'
          : `has source "${source}" and no message, but only an overlay may have none`,
      )
      if (!message) return
      must(log.place !== 'calls', 'adds a message between the calls of an answer and step-end')
      log.messages.add(message.id ?? '')
    },
  },
  'turn-start': { at: ['outside', 'input', ...inTurn], take: (log, event, must) => (event.resumed ? resume : begin)(log, event, must) },
  'step-start': {
    at: ['turn'],
    take(log, { step }, must) {
      must(step === log.step + 1, `has step ${step}, expected ${log.step + 1}`)
      must(log.hasInput, 'the turn has no input')
      move(log, { place: 'step', step, window: 'step-start', calls: new Map(), approvals: new Map(), attemptFailed: false })
    },
  },
  'step-end': {
    at: ['step', 'calls'],
    take(log, { toolCalls }, must) {
      for (const [id, call] of log.calls) must(call.ended, `the call ${id} has no tool-execution-end`)
      must(toolCalls === log.calls.size, `toolCalls is ${toolCalls}, but the answer has ${log.calls.size} calls`)
      must(log.retry === undefined, noRetryEnd(log))
      must(log.calls.size > 0 || log.approvals.size === 0, openApprovals(log))
      for (const { toolCallId } of log.owed)
        must(log.calls.get(toolCallId)?.cutOff !== false, `the cost of a subagent of the call ${toolCallId} has no usage event`)
      move(log, { place: 'turn', window: 'step-end' })
    },
  },
  'turn-end': { at: inTurn, take: endTurn },
  'save-point': { at: ['closing'], take: (log) => void (log.place = 'outside') },
  settled: {
    at: ['outside'],
    take(log, { runId }, must) {
      // A compaction that ends before it begins has no other event.
      const settles = ends.has(log.previous) || (runId !== log.runId && runId !== log.settledBy)
      must(
        !log.waits && settles,
        log.waits
          ? 'is not allowed while a turn is suspended'
          : `the event before is ${log.previous ?? 'none'}, expected save-point, compaction-end or turn-end`,
      )
      must(log.queued.size === 0, `the queue still has the run ${[...log.queued].join(', ')}`)
      log.settledBy = runId
    },
  },
}

/** Adds a part to the cost of the turn. */
export function book(log: LogState, part: Pick<UsageEvent, 'usage' | 'cost'>): void {
  if (log.spent) log.spent = { usage: sumUsage(log.spent.usage, part.usage), cost: sumCost(log.spent, part) }
}

function begin(log: LogState, { runId, turn }: TurnStartEvent, must: Must): void {
  if (log.place === 'input')
    must(runId === log.runId, `names the run ${runId}, but the input before it is for the run ${log.runId ?? 'none'}`)
  else must(log.place === 'outside' && !log.waits, `starts a turn while a turn is ${log.waits ? 'suspended' : 'open'}`)
  must(log.turn === 0 || turn === log.turn + 1, `has turn ${turn}, expected ${log.turn + 1}`)
  log.queued.delete(runId)
  move(log, {
    place: 'turn',
    window: 'turn-start',
    runId,
    turn,
    step: 0,
    spent: { usage: {} },
    calls: new Map(),
    approvals: new Map(),
    ...(log.place === 'outside' && { hasInput: false, messages: new Set() }),
  })
}

function resume(log: LogState, event: TurnStartEvent, must: Must): void {
  must(inTurn.includes(log.place) || (log.place === 'outside' && log.waits), 'resumes a turn, but no turn is open or suspended')
  must(event.runId === log.runId && event.turn === log.turn, wrongTurn(log, event))
  must(event.cause !== undefined, 'resumes a turn without a cause')
  for (const call of log.calls.values()) call.running = false
  if (log.message) log.message.lost = true
  move(log, {
    window: 'turn-start',
    waits: false,
    attemptFailed: false,
    heldAt: undefined,
    ...(log.place === 'outside' && { place: log.heldAt ?? 'calls' }),
  })
}

function endTurn(log: LogState, event: TurnEndEvent, must: Must): void {
  const { status, steps, overlaysExpired } = event
  const lists = status === 'awaiting-tools' || status === 'needs-recovery'
  const waits = isSuspended(status)
  if (event.reason === 'definition-changed') return holdTurn(log, event, must)
  const asksBefore = log.place === 'step' && log.approvals.size > 0
  must(log.place === 'turn' || log.place === 'calls' || asksBefore, notAllowedHere(log))
  must(
    waits === (log.place === 'calls' || asksBefore),
    waits ? `has status "${status}", but no step is open` : `has status "${status}", but step ${log.step} has no step-end`,
  )
  must(
    !waits || !log.spent || asksBefore || [...log.calls.values()].some((call) => !call.ended),
    `has status "${status}", but no call is open`,
  )
  const handedOn = [...log.children.values()].some(({ toolCallId }) => log.calls.get(toolCallId)?.ended === false)
  must(
    lists === (log.previous === 'awaiting-tools' && !log.continues),
    `has status "${status}" ${lists ? 'without an awaiting-tools event directly' : 'with an awaiting-tools event'} before it`,
  )
  must(status !== 'awaiting-subagent' || handedOn, 'has status "awaiting-subagent", but no open call has started a subagent')
  must(status !== 'awaiting-approval' || log.approvals.size > 0, 'has status "awaiting-approval", but no approval is open')
  must(!waits || overlaysExpired === 0, `overlaysExpired is ${overlaysExpired}, expected 0 for a suspended turn`)
  must(steps === log.step, `steps is ${steps}, expected ${log.step}`)
  must(log.retry === undefined || asksBefore, noRetryEnd(log))
  checkSpent(log, event, must)
  move(log, { place: 'closing', waits, ...(asksBefore && { heldAt: log.place }) })
}

function checkSpent({ spent }: LogState, { usage, cost }: TurnEndEvent, must: Must): void {
  if (!spent) return
  must(same(usage, spent.usage), `usage is ${JSON.stringify(usage)}, expected the sum ${JSON.stringify(spent.usage)}`)
  must(same(cost, spent.cost), `cost is ${JSON.stringify(cost)}, expected the sum ${JSON.stringify(spent.cost)}`)
}

/** Keeps the place of the turn: the turn continues from there when a client has decided about its definition. */
function holdTurn(log: LogState, event: TurnEndEvent, must: Must): void {
  must(event.status === 'needs-recovery', `has reason "definition-changed" and status "${event.status}", expected "needs-recovery"`)
  must(event.steps === log.step, `steps is ${event.steps}, expected ${log.step}`)
  checkSpent(log, event, must)
  move(log, { place: 'closing', waits: true, heldAt: log.place })
}

function same(a: object | undefined, b: object | undefined): boolean {
  return canonicalJson({ ...a }) === canonicalJson({ ...b })
}
