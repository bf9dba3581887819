import type { Batch, CommitResult } from '../../../src/contract/batch.ts'
import type { Plan, Program, ProgramStep } from './program.ts'

/** Limits per unit of a program. A unit is an input, an answer of a model, a call or a crash. */
const perUnit = { commits: 40, events: 80, runs: 4, claims: 12 }

type Counted = keyof typeof perUnit

/**
 * Counts the work of a runtime and limits it. If the work grows faster than the size of the program, the runtime repeats
 * something without bound, and the program is stopped.
 */
export class Ceiling {
  readonly counts: Record<Counted, number> = { commits: 0, events: 0, runs: 0, claims: 0 }
  readonly limits: Readonly<Record<Counted, number>>

  constructor(program: Program) {
    const units = unitsOf(program)
    this.limits = {
      commits: perUnit.commits * units,
      events: perUnit.events * units,
      runs: perUnit.runs * units,
      claims: perUnit.claims * units,
    }
  }

  countCommit({ writes, deliver = [] }: Batch, result: CommitResult): void {
    this.counts.commits++
    if (!result.ok) return
    this.counts.events += Math.max(0, result.lastSeq - result.firstSeq + 1)
    for (const { op } of [...writes, ...deliver.flatMap((each) => each.writes)]) if (op === 'run.insert') this.counts.runs++
  }

  countClaim(): void {
    this.counts.claims++
  }

  get isReached(): boolean {
    return this.problems().length > 0
  }

  problems(): readonly string[] {
    const names = Object.keys(perUnit) as Counted[]
    return names
      .filter((name) => this.counts[name] > this.limits[name])
      .map((name) => `the program made ${this.counts[name]} ${name}, expected at most ${this.limits[name]}`)
  }
}

/** Returns the size of a program in units. */
function unitsOf({ steps, crashes }: Program): number {
  return 4 + crashes.length * 2 + steps.reduce((sum, step) => sum + unitsOfStep(step), 0)
}

function unitsOfStep(step: ProgramStep): number {
  return 1 + ('plan' in step ? unitsOfPlan(step.plan ?? []) : 0)
}

function unitsOfPlan(plan: Plan): number {
  return plan.reduce(
    (sum, answer) =>
      sum +
      ('calls' in answer
        ? answer.calls.reduce((calls, call) => calls + 1 + ('delegate' in call ? 1 + unitsOfPlan(call.delegate) : 0), 1)
        : 5),
    1,
  )
}
