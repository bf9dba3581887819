import { shrink } from '../shrink.ts'
import type { Plan, PlannedAnswer, PlannedCall, Program, ProgramStep } from './program.ts'

/**
 * Returns the smallest program found for which `fails` is still true: with fewer crashes, steps, answers and settings. `tries`
 * limits the number of calls of `fails`.
 */
export function shrinkProgram(program: Program, fails: (smaller: Program) => Promise<boolean>, tries = 400): Promise<Program> {
  return shrink(program, smallerThan, fails, tries)
}

/** Yields programs with one part less, the largest parts first. */
function* smallerThan(program: Program): Generator<Program> {
  const { steps, crashes, setup } = program
  if (steps.length > 3) yield { ...program, steps: steps.slice(0, Math.ceil(steps.length / 2)) }
  for (const fewer of withoutOne(steps)) yield { ...program, steps: fewer }
  for (const fewer of withoutOne(crashes)) yield { ...program, crashes: fewer }
  for (const name of Object.keys(setup))
    yield { ...program, setup: Object.fromEntries(Object.entries(setup).filter(([key]) => key !== name)) }
  for (const [index, hook] of (setup.hooks ?? []).entries()) {
    yield { ...program, setup: { ...setup, hooks: (setup.hooks ?? []).toSpliced(index, 1) } }
    if (hook.times !== undefined && hook.times > 1)
      yield { ...program, setup: { ...setup, hooks: (setup.hooks ?? []).with(index, { ...hook, times: 1 }) } }
  }
  for (const [index, step] of steps.entries()) {
    for (const simpler of simplerSteps(step)) yield { ...program, steps: steps.with(index, simpler) }
  }
}

export function* withoutOne<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let index = items.length - 1; index >= 0; index--) yield items.toSpliced(index, 1)
}

const optional = [
  'turns',
  'onBusy',
  'notBeforeMs',
  'mode',
  'scope',
  'waitMs',
  'summarize',
  'allBranches',
  'run',
  'definition',
  'graceMs',
] as const

function* simplerSteps(step: ProgramStep): Generator<ProgramStep> {
  for (const name of optional) {
    if (name in step) yield Object.fromEntries(Object.entries(step).filter(([key]) => key !== name)) as unknown as ProgramStep
  }
  if (!('plan' in step) || !step.plan) return
  for (const plan of simplerPlans(step.plan)) yield { ...step, plan }
}

export function* simplerPlans(plan: Plan): Generator<Plan> {
  yield* withoutOne(plan)
  for (const [index, answer] of plan.entries()) for (const simpler of simplerAnswers(answer)) yield plan.with(index, simpler)
}

function* simplerAnswers(answer: PlannedAnswer): Generator<PlannedAnswer> {
  if (!('calls' in answer)) return
  if (answer.calls.length > 1) for (const calls of withoutOne(answer.calls)) yield { calls }
  for (const [index, call] of answer.calls.entries())
    for (const simpler of simplerCalls(call)) yield { calls: answer.calls.with(index, simpler) }
}

function* simplerCalls(call: PlannedCall): Generator<PlannedCall> {
  if (!('delegate' in call)) {
    if (call.ms !== undefined || call.throws) yield { tool: call.tool }
    return
  }
  if (call.background) yield { delegate: call.delegate }
  for (const delegate of simplerPlans(call.delegate)) yield { ...call, delegate }
}
