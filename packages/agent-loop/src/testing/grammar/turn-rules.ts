import { canonicalJson } from '../../base/hash-json.ts'
import type { UsageEvent } from '../../events/message-events.ts'
import { sumCost, sumUsage } from '../../events/spending.ts'
import { isSuspended } from '../../events/status.ts'
import type { TurnEndEvent, TurnStartEvent } from '../../events/turn-events.ts'
import { inTurn, move } from './log-state.ts'
import type { LogState, Must, Place, Rule, Rules } from './log-state.ts'

const nearlyAnywhere: readonly Place[] = ['outside', 'input', ...inTurn, 'compacting']
const behindTurnStart: readonly Place[] = ['outside', ...inTurn, 'compacting']
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
  'orchestration-step': free(behindTurnStart),
  error: free(behindTurnStart),
  'user-message': {
    at: ['outside', 'input'],
    take(log, { runId, messageId, message }, must) {
      must(!log.waits, 'a turn is open')
      must(log.place === 'outside' || log.previous === 'message-discarded', 'a second input')
      must(message.id === messageId && !log.usedIds.has(messageId), 'its message has another id, or one that is used')
      log.usedIds.add(messageId)
      log.queued.delete(runId)
      move(log, { place: 'input', runId, hasInput: true, messages: new Set([messageId]) })
    },
  },
  'runtime-input': {
    at: inTurn,
    take(log, { source, placement, message }, must) {
      must(log.window === placement, `stands where the window is ${log.window ?? 'closed'}`)
      log.hasInput = true
      must((source === 'overlay') === (message === undefined), 'an overlay never has its message here, other input always')
      if (!message) return
      must(log.place !== 'calls', 'a message follows open calls')
      log.messages.add(message.id ?? '')
    },
  },
  'turn-start': { at: ['outside', 'input', ...inTurn], take: (log, event, must) => (event.resumed ? resume : begin)(log, event, must) },
  'step-start': {
    at: ['turn'],
    take(log, { step }, must) {
      must(step === log.step + 1, `step ${step} follows ${log.step}`)
      must(log.hasInput, 'the turn has no input')
      move(log, { place: 'step', step, window: 'step-start', calls: new Map(), approvals: new Map(), attemptFailed: false })
    },
  },
  'step-end': {
    at: ['step', 'calls'],
    take(log, { toolCalls }, must) {
      for (const [id, call] of log.calls) must(call.ended, `${id} has no outcome`)
      must(toolCalls === log.calls.size, `counts ${toolCalls} calls of ${log.calls.size}`)
      must(log.retry === undefined, 'the retry has no end')
      must(log.calls.size > 0 || log.approvals.size === 0, 'the question of the step is open')
      for (const { toolCallId } of log.owed) must(log.calls.get(toolCallId)?.cutOff !== false, `what a child of ${toolCallId} cost is not booked`)
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
      must(!log.waits && settles, 'does not follow what it settles')
      must(log.queued.size === 0, `${[...log.queued].join(', ')} is queued`)
      log.settledBy = runId
    },
  },
}

/** Adds a part to the cost of the turn. */
export function book(log: LogState, part: Pick<UsageEvent, 'usage' | 'cost'>): void {
  if (log.spent) log.spent = { usage: sumUsage(log.spent.usage, part.usage), cost: sumCost(log.spent, part) }
}

function begin(log: LogState, { runId, turn }: TurnStartEvent, must: Must): void {
  must(log.place === 'input' ? runId === log.runId : log.place === 'outside' && !log.waits, 'a turn is open, or the input is of another run')
  must(log.turn === 0 || turn === log.turn + 1, `turn ${turn} follows ${log.turn}`)
  log.queued.delete(runId)
  move(log, {
    ...{ place: 'turn', window: 'turn-start', runId, turn, step: 0, spent: { usage: {} }, calls: new Map(), approvals: new Map() },
    ...(log.place === 'outside' && { hasInput: false, messages: new Set() }),
  })
}

function resume(log: LogState, event: TurnStartEvent, must: Must): void {
  must(inTurn.includes(log.place) || (log.place === 'outside' && log.waits), 'resumes a turn that is not open')
  must(event.runId === log.runId && event.turn === log.turn, `belongs to turn ${event.turn} of run ${event.runId}`)
  must(event.cause !== undefined, 'has no cause')
  for (const call of log.calls.values()) call.running = false
  if (log.message) log.message.lost = true
  move(log, { window: 'turn-start', waits: false, attemptFailed: false, heldAt: undefined, ...(log.place === 'outside' && { place: log.heldAt ?? 'calls' }) })
}

function endTurn(log: LogState, event: TurnEndEvent, must: Must): void {
  const { status, steps, overlaysExpired } = event
  const lists = status === 'awaiting-tools' || status === 'needs-recovery'
  const waits = isSuspended(status)
  if (event.reason === 'definition-changed') return holdTurn(log, event, must)
  const asksBefore = log.place === 'step' && log.approvals.size > 0
  must(log.place === 'turn' || log.place === 'calls' || asksBefore, `may not stand here (${log.place}, behind ${log.previous ?? 'nothing'})`)
  must(waits === (log.place === 'calls' || asksBefore), waits ? 'no step is open' : 'the step is open')
  must(!waits || !log.spent || asksBefore || [...log.calls.values()].some((call) => !call.ended), 'nothing waits')
  const handedOn = [...log.children.values()].some(({ toolCallId }) => log.calls.get(toolCallId)?.ended === false)
  must(lists === (log.previous === 'awaiting-tools'), 'awaiting-tools and status disagree')
  must(status !== 'awaiting-subagent' || handedOn, 'no subagent is at work')
  must(status !== 'awaiting-approval' || log.approvals.size > 0, 'no approval is open')
  must(!waits || overlaysExpired === 0, 'the overlays of a suspended turn stay')
  must(steps === log.step, `counts ${steps} steps of ${log.step}`)
  must(log.retry === undefined || asksBefore, 'the retry has no end')
  checkSpent(log, event, must)
  move(log, { place: 'closing', waits, ...(asksBefore && { heldAt: log.place }) })
}

function checkSpent({ spent }: LogState, { usage, cost }: TurnEndEvent, must: Must): void {
  if (!spent) return
  must(same(usage, spent.usage), `usage ${JSON.stringify(usage)} is not the sum ${JSON.stringify(spent.usage)}`)
  must(same(cost, spent.cost), `cost ${JSON.stringify(cost)} is not the sum ${JSON.stringify(spent.cost)}`)
}

/** Keeps the place of the turn: the turn continues from there when a client has decided about its definition. */
function holdTurn(log: LogState, event: TurnEndEvent, must: Must): void {
  must(event.status === 'needs-recovery', 'only a turn that needs recovery is held')
  must(event.steps === log.step, `counts ${event.steps} steps of ${log.step}`)
  checkSpent(log, event, must)
  move(log, { place: 'closing', waits: true, heldAt: log.place })
}

function same(a: object | undefined, b: object | undefined): boolean {
  return canonicalJson({ ...a }) === canonicalJson({ ...b })
}
