import { foldDelta } from './fold-deltas.ts'
import type { Change } from './folds.ts'
import { folds, isDelta, isDurable } from './kinds.ts'
import type { AgentEvent, DurableEvent } from './types.ts'
import { statusOf } from './status.ts'
import type { RunView } from './view.ts'

/**
 * The fold of a log. Pure and total: it never throws, and values that are no event, unknown types, repeated numbers, durable events without a
 * number and deltas without their open message or call give back the same view. A jump in `seq` sets `gap`.
 */
export function reduceEvents(view: RunView, event: AgentEvent): RunView {
  if (isDelta(event)) return foldDelta(view, event)
  if (!isDurable(event) || event.seq === undefined || event.seq <= view.seq) return view
  const fold = folds[event.type] as (view: RunView, event: DurableEvent) => Change
  const next: Change = { ...view, ...fold(view, event), seq: event.seq }
  if (event.seq > view.seq + 1) next.gap = true
  if (next.phase === 'turn') next.status = statusOf('running', next.retry && !next.open)
  return withoutAbsent(next)
}

function withoutAbsent(change: Change): RunView {
  for (const key of ['status', 'outcome', 'runId', 'open', 'compaction', 'retry', 'cost', 'error'] as const) {
    if (change[key] === undefined) delete change[key]
  }
  return change as RunView
}
