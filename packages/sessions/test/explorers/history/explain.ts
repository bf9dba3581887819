import { linearize, type Search, type SearchOptions } from './linearize.ts'
import type { HistoryOperation } from './operations.ts'
import type { Step } from './partition.ts'
import { SessionModel, type Contradiction } from './session-model.ts'

/** Reason why no order of a history agrees with the model. */
export interface Explanation {
  readonly contradiction: Contradiction
  /**
   * The smallest contradiction: without the answer of any one of these operations, the others could be ordered (apart from much
   * earlier ones). Includes the claim or the stop request that is contradicted.
   */
  readonly operations: readonly HistoryOperation[]
  /** State of the session at the end of the order. */
  readonly state: string
}

/** Number of steps before the wrong answer that are tested one by one. Earlier steps are kept. */
const mostWeighed = 12
/** Limit of tries of one search. If a search exceeds it, its steps are kept. */
const mostTries = 10_000

/** Finds the smallest part of the steps that contradicts the model. */
export function explain(steps: readonly Step[], options: SearchOptions): Explanation {
  const first = shortestWrong(steps, options)
  const search = linearize(first.steps, { ...options, maxTries: Math.min(options.maxTries, mostTries) })
  const { contradiction, state } = stateAtEnd(search, first.steps)
  const kept = first.last ? leaveOut(search, first.steps, first.last) : []
  const made = first.steps.filter(({ operation }) => operation.id === contradiction.since)
  const operations = [...new Set([...kept, ...made].map(({ operation }) => operation))].sort((a, b) => a.calledAt - b.calledAt)
  return { contradiction, operations, state }
}

interface Prefix {
  readonly steps: readonly Step[]
  /** The step with the first wrong answer. */
  readonly last: Step | undefined
}

/** Returns the steps up to the first wrong answer. Steps without an answer by then may have happened. */
function shortestWrong(steps: readonly Step[], { maxTries }: SearchOptions): Prefix {
  const isWrong = (part: readonly Step[]): boolean => linearize(part, { maxTries: Math.min(maxTries, mostTries) }).verdict === 'no'
  const answers = steps.filter(({ isOptional }) => !isOptional).toSorted((a, b) => a.returnedAt - b.returnedAt)
  let [right, wrong] = [-1, answers.length - 1]
  while (wrong - right > 1) {
    const middle = Math.floor((right + wrong) / 2)
    if (isWrong(until(steps, answers[middle]?.returnedAt ?? 0))) wrong = middle
    else right = middle
  }
  const last = answers[wrong]
  const before = until(steps, last?.returnedAt ?? Infinity)
  return isWrong(before) ? { steps: before, last } : { steps, last: undefined }
}

function until(steps: readonly Step[], at: number): readonly Step[] {
  return steps
    .filter(({ calledAt }) => calledAt <= at)
    .flatMap((step) => (step.isOptional || step.returnedAt <= at ? step : forgotten(step)))
}

/** Returns the step without its answer. A read then says nothing; a write may have happened. */
function forgotten(step: Step): readonly Step[] {
  if (step.isRead) return []
  return [{ ...step, isOptional: true, returnedAt: Infinity, apply: step.applyUnanswered }]
}

/** Removes answers that do not matter, the oldest first, so that the latest steps remain. */
function leaveOut({ path }: Search, steps: readonly Step[], last: Step): readonly Step[] {
  const writes = path.filter(({ isRead }) => !isRead)
  const before = writes.slice(0, -mostWeighed)
  const isWrong = (rest: readonly Step[]): boolean => linearize(rest, { maxTries: mostTries, before }).verdict === 'no'
  const known = new Set(before)
  const all = steps.filter((step) => !known.has(step))
  // Most reads are right: removes all of them at once, if the rest is still wrong.
  const withoutReads = all.filter((step) => !step.isRead || step === last)
  let rest = isWrong(withoutReads) ? withoutReads : all
  const kept: Step[] = [last]
  for (const step of rest.filter((each) => !each.isOptional && each !== last).toSorted((a, b) => a.calledAt - b.calledAt)) {
    const smaller = rest.flatMap((each) => (each === step ? forgotten(step) : each))
    if (isWrong(smaller)) rest = smaller
    else kept.push(step)
  }
  return kept
}

/** Returns the state of the session at the end of the longest order, and the contradiction with the remaining steps. */
function stateAtEnd({ path, atEnd }: Search, steps: readonly Step[]): { readonly contradiction: Contradiction; readonly state: string } {
  const model = new SessionModel()
  for (const step of path) step.apply(model)
  const placed = new Set(path)
  const left = steps.filter((step) => !step.isOptional && !placed.has(step)).toSorted((a, b) => a.returnedAt - b.returnedAt)
  const mark = model.tracked.mark
  for (const step of left) {
    const contradiction = step.apply(model)
    model.tracked.backTo(mark)
    if (contradiction)
      return { contradiction: { ...contradiction, text: `${step.operation.id} ${contradiction.text}` }, state: model.describe() }
  }
  return { contradiction: atEnd ?? { rule: 'write', text: 'no order of the steps agrees with the model' }, state: model.describe() }
}
