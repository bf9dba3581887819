import { linearize, type Search, type SearchOptions } from './linearize.ts'
import type { HistoryOperation } from './operations.ts'
import type { Step } from './partition.ts'
import { SessionModel, type Contradiction } from './session-model.ts'

/** Why a history cannot be put into an order. */
export interface Explanation {
  readonly contradiction: Contradiction
  /**
   * Without the answer of any of these the others could be put into an order, those that came long before apart. The claim or
   * the stop request that is contradicted is among them.
   */
  readonly operations: readonly HistoryOperation[]
  /** How the session stands when the order ends. */
  readonly state: string
}

/** Steps that are weighed one by one: the last ones before the answer that is wrong. What came before is taken as it was. */
const mostWeighed = 12
/** Tries of one search. What takes more is left as it is. */
const mostTries = 10_000

/** Finds the smallest part of the steps that contradicts the model. */
export function explain(steps: readonly Step[], options: SearchOptions): Explanation {
  const first = shortestWrong(steps, options)
  const search = linearize(first.steps, { ...options, maxTries: Math.min(options.maxTries, mostTries) })
  const { contradiction, state } = standsAt(search, first.steps)
  const kept = first.last ? leaveOut(search, first.steps, first.last) : []
  const made = first.steps.filter(({ operation }) => operation.id === contradiction.since)
  const operations = [...new Set([...kept, ...made].map(({ operation }) => operation))].sort((a, b) => a.calledAt - b.calledAt)
  return { contradiction, operations, state }
}

interface Prefix {
  readonly steps: readonly Step[]
  /** The step whose answer is the first one that is wrong. */
  readonly last: Step | undefined
}

/** What happened until the first answer that is wrong. What has no answer until then may have happened. */
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
  return steps.filter(({ calledAt }) => calledAt <= at).flatMap((step) => (step.isOptional || step.returnedAt <= at ? step : forgotten(step)))
}

/** The step without its answer: a read says nothing then, a write may have happened. */
function forgotten(step: Step): readonly Step[] {
  if (step.isRead) return []
  return [{ ...step, isOptional: true, returnedAt: Infinity, apply: step.applyUnanswered }]
}

/** Forgets the answers that do not matter, the oldest first: what is left is what happened last. */
function leaveOut({ path }: Search, steps: readonly Step[], last: Step): readonly Step[] {
  const writes = path.filter(({ isRead }) => !isRead)
  const before = writes.slice(0, -mostWeighed)
  const isWrong = (rest: readonly Step[]): boolean => linearize(rest, { maxTries: mostTries, before }).verdict === 'no'
  const known = new Set(before)
  const all = steps.filter((step) => !known.has(step))
  // Most reads are right: all of them are left out at once, if that leaves something wrong.
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

/** How the session stands at the end of the longest order, and what none of the steps that are left agrees with. */
function standsAt({ path, atEnd }: Search, steps: readonly Step[]): { readonly contradiction: Contradiction; readonly state: string } {
  const model = new SessionModel()
  for (const step of path) step.apply(model)
  const placed = new Set(path)
  const left = steps.filter((step) => !step.isOptional && !placed.has(step)).toSorted((a, b) => a.returnedAt - b.returnedAt)
  const mark = model.tracked.mark
  for (const step of left) {
    const contradiction = step.apply(model)
    model.tracked.backTo(mark)
    if (contradiction) return { contradiction: { ...contradiction, text: `${step.operation.id}: ${contradiction.text}` }, state: model.describe() }
  }
  return { contradiction: atEnd ?? { rule: 'write', text: 'no order of the steps agrees with the model' }, state: model.describe() }
}
