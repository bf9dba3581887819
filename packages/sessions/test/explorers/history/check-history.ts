import { explain } from './explain.ts'
import { linearize, type SearchOptions } from './linearize.ts'
import type { History, HistoryOperation } from './operations.ts'
import type { CheckHistoryOptions } from './options.ts'
import { partition, type Step } from './partition.ts'
import { printOperation } from './print-operation.ts'
import type { Contradiction, HistoryRule, SessionModel } from './session-model.ts'

/** Counts and problems of a checked history. No problems means that the history agrees with the model. */
export interface HistoryReport {
  readonly operations: number
  readonly sessions: number
  /** At most one problem per session. Empty: the history agrees with the model. */
  readonly problems: readonly HistoryProblem[]
}

/** A contradiction between a history and the model, for one session. */
export interface HistoryProblem {
  /** Namespace and key. */
  readonly session: string
  /** `undecided`: the search exceeded its limit. */
  readonly rule: HistoryRule | 'undecided'
  /** The fault in one sentence. */
  readonly message: string
  /** The smallest set of operations that contradicts the model, in the order of their calls. */
  readonly operations: readonly HistoryOperation[]
  /** All of the above as text to print. */
  readonly text: string
}

/**
 * Checks that a recorded history is linearizable: a model of one session must allow some order of the operations in which each
 * takes effect between its call and its answer.
 */
export function checkHistory(history: History, options: CheckHistoryOptions = {}): HistoryReport {
  const parts = partition(history)
  const problems = [...parts].flatMap(([session, steps]) => judge(session, steps, options))
  return { operations: history.length, sessions: parts.size, problems }
}

function judge(
  session: string,
  steps: readonly Step[],
  { atRest = false, maxTries = 1_000_000 }: CheckHistoryOptions,
): readonly HistoryProblem[] {
  const options: SearchOptions = { maxTries, ...(atRest && { atEnd: isAtRest }) }
  const { verdict, path, tries } = linearize(steps, options)
  if (verdict === 'yes') return []
  if (verdict === 'undecided') {
    const message = `the search for an order stopped after ${tries} tries with ${path.length} of ${steps.length} steps placed; raise maxTries`
    return [{ session, rule: 'undecided', message, operations: [], text: `${session}: ${message}` }]
  }
  const { contradiction, operations, state } = explain(steps, options)
  const text = [
    `${session} (${contradiction.rule}): ${contradiction.text}`,
    ...operations.map((each) => `  ${printOperation(each)}`),
    `  state of the session: ${state}`,
  ].join('\n')
  return [{ session, rule: contradiction.rule, message: contradiction.text, operations, text }]
}

/** Checks that each run is answered, waits, or is queued after a run that waits. */
function isAtRest(model: SessionModel): Contradiction | undefined {
  const first = model.first()
  if (first?.status === 'queued' || first?.status === 'running')
    return { rule: 'lost-input', text: `the run ${first.id} was accepted, but is still ${first.status} at rest` }
  const unanswered = [...model.runs.values()].find(
    ({ id, kind, hasEnded }) => kind !== 'compaction' && !hasEnded && !model.openRuns.has(id),
  )
  return unanswered && { rule: 'lost-input', text: `the run ${unanswered.id} is ${unanswered.status}, but the log has no turn-end of it` }
}
