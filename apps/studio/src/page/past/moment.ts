import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { DurableEvent, RunView, ToolEffect, ViewMessage } from '@bowline/agent-loop/events'
import { foldEvent } from '@bowline/client'
import type { SessionView } from '@bowline/client'
import { emptyMargins, foldMargins } from '../conversation/margins.ts'
import type { Margins } from '../conversation/margins.ts'
import { emptyCrashes, foldCrashes } from '../story/crashes.ts'
import type { Crashes } from '../story/crashes.ts'
import { entryOf, withEntry } from '../parts/growing.ts'
import type { Growing } from '../parts/growing.ts'
import { emptySpending, foldSpending } from './spending.ts'
import type { Spending } from './spending.ts'

/** State of a session after one event of its log. */
export interface Moment {
  readonly seq: number
  readonly at: number
  readonly view: RunView
  readonly margins: Margins
  readonly spending: Spending
  readonly crashes: Crashes
  /** Start of each call, by call id. */
  readonly starts: Growing<CallStarts>
  /** Steps of the orchestration so far, newest last. */
  readonly plan: readonly PlanStep[]
  /** Newest message on any branch. */
  readonly newest?: TreeNode
}

export interface CallStarts {
  readonly effect: ToolEffect
  readonly idempotencyKey: string
  readonly count: number
}

export interface PlanStep {
  readonly seq: number
  /** Name of the step. Null after the last step. */
  readonly name: string | null
  readonly because: string
  readonly sequenceIndex: number
}

/** Message in the tree of the conversation, as a linked list: one more message costs the same in a long conversation. */
interface TreeNode {
  readonly message: ViewMessage
  /** Id of the previous message on its branch. */
  readonly parent?: string
  /** Previous message on any branch. */
  readonly older?: TreeNode
}

/** Returns the moment before the first event. `copied` holds the messages of a fork or import, which no event contains. */
export function momentBefore(copied: readonly ViewMessage[] = []): Moment {
  const view = { ...emptyView, messages: copied }
  return {
    seq: 0,
    at: 0,
    view,
    margins: emptyMargins,
    spending: emptySpending,
    crashes: emptyCrashes,
    starts: [],
    plan: [],
    ...withNewest(grown(undefined, [], copied)),
  }
}

/** Returns the moment after an event. Pure. */
export function foldMoment(before: Moment, event: DurableEvent): Moment {
  const { seq = 0, at } = event
  if (seq <= before.seq) return before
  const view = foldView(before, event)
  return {
    seq,
    at,
    view,
    margins: foldMargins(before.margins, event),
    spending: foldSpending(before.spending, event, view),
    crashes: foldCrashes(before.crashes, event, before),
    starts: foldStarts(before.starts, event),
    plan: foldPlan(before.plan, event),
    ...withNewest(view.messages === before.view.messages ? before.newest : grown(before.newest, before.view.messages, view.messages)),
  }
}

function foldView(before: Moment, event: DurableEvent): RunView {
  const seq = event.seq ?? 0
  // A missing beginning of the log is not a gap: the page shows the events that it has.
  const sofar = before.seq === 0 ? { ...before.view, seq: seq - 1 } : before.view
  if (event.type === 'branch-switched') return viewOfPath(sofar, seq, pathTo(before.newest, event.to))
  const view = reduceEvents(sofar, event)
  return event.type === 'session-start' && event.copied ? viewOfPath(view, seq, before.view.messages) : view
}

/** Returns the view of an idle session with these messages. */
function viewOfPath(view: RunView, seq: number, messages: readonly ViewMessage[]): RunView {
  const state = {
    cursor: String(seq),
    messages,
    pendingToolCalls: [],
    pendingApprovals: [],
    usage: {},
    ...(view.status && { status: view.status }),
    ...(view.outcome && { outcome: view.outcome }),
  }
  // Server state that holds the parts of a view.
  return foldEvent(view, { type: 'resync', state: state as unknown as SessionView })
}

function pathTo(newest: TreeNode | undefined, id: string | null): readonly ViewMessage[] {
  const path: ViewMessage[] = []
  let wanted = id ?? undefined
  // A message is newer than its parent, so the parent comes later in this list.
  for (let node = newest; node && wanted !== undefined; node = node.older) {
    if (node.message.id !== wanted) continue
    path.push(node.message)
    wanted = node.parent
  }
  return path.reverse()
}

/** Returns the list with the new messages, which are at the end. A message in the middle may have been removed. */
function grown(newest: TreeNode | undefined, before: readonly ViewMessage[], messages: readonly ViewMessage[]): TreeNode | undefined {
  let from = messages.length
  while (from > 0 && messages[from - 1] !== before[from - 1] && !before.includes(messages[from - 1] as ViewMessage)) from--
  return messages.slice(from).reduce((older, message, place) => {
    const parent = messages[from + place - 1]?.id
    return { message, ...(parent !== undefined && { parent }), ...(older && { older }) }
  }, newest)
}

function withNewest(newest: TreeNode | undefined): Pick<Moment, 'newest'> {
  return newest ? { newest } : {}
}

function foldStarts(starts: Moment['starts'], event: DurableEvent): Moment['starts'] {
  if (event.type !== 'tool-execution-start' || event.agent) return starts
  const { toolCallId, effect, idempotencyKey } = event
  return withEntry(starts, toolCallId, { effect, idempotencyKey, count: (entryOf(starts, toolCallId)?.count ?? 0) + 1 })
}

function foldPlan(plan: readonly PlanStep[], event: DurableEvent): readonly PlanStep[] {
  if (event.type !== 'orchestration-step') return plan
  const { seq = 0, name, because, sequenceIndex } = event
  return [...plan, { seq, name, because, sequenceIndex }]
}
