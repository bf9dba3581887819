import { drawProgram } from './draw-program.ts'
import { programInvariants } from './invariants.ts'
import { printProgram } from './print-program.ts'
import type { ProgramInvariant } from './program-end.ts'
import type { ExploreProgramsOptions } from './program-options.ts'
import type { Program } from './program.ts'
import { runProgram, type ProgramVerdict } from './run-program.ts'
import { shrinkProgram } from './shrink-program.ts'

/** Counts and failures of explored programs. */
export interface ProgramReport {
  /** Number of programs run, without those tried while shrinking. */
  readonly programs: number
  /** Number of store operations in all of them. */
  readonly points: number
  readonly failures: readonly ProgramFailure[]
}

/** A failing program, shrunk and printed as a test, with its seed. */
export interface ProgramFailure {
  readonly seed: number
  /** The smallest failing program found, as a test. */
  readonly program: string
  /** Crash points of the program. */
  readonly point?: string
  readonly invariant: string
  readonly problems: readonly string[]
  /** The trace, in order. */
  readonly trace: readonly string[]
}

/** Draws random programs over all features and runs each until it is at rest. Equal options give equal programs, traces and verdicts. */
export async function explorePrograms(options: ExploreProgramsOptions): Promise<ProgramReport> {
  const { programs, seed: first, features, maxFailures = 10 } = options
  const runner = new ProgramRunner(options)
  const failures: ProgramFailure[] = []
  let [ran, points] = [0, 0]
  for (let seed = first; seed < first + programs && failures.length < maxFailures; seed++) {
    const program = drawProgram(seed, features)
    const verdict = await runner.run(program)
    ran++
    points += verdict.points
    const [failure] = verdict.failures
    if (failure) failures.push(await runner.explain(program, failure.invariant))
  }
  return { programs: ran, points, failures }
}

class ProgramRunner {
  readonly #options: ExploreProgramsOptions
  #runs = 0

  constructor(options: ExploreProgramsOptions) {
    this.#options = options
  }

  run(program: Program, invariants: readonly ProgramInvariant[] = this.#invariants): Promise<ProgramVerdict> {
    const { store, reopen, faults } = this.#options
    return runProgram(program, {
      invariants,
      namespace: `program-${this.#runs++}`,
      ...(store && { store }),
      ...(reopen && { reopen }),
      ...(faults && { faults }),
    })
  }

  /** Shrinks the program and returns the same failure in the smallest one found. */
  async explain(program: Program, invariant: string): Promise<ProgramFailure> {
    const broken = this.#invariants.filter(({ name }) => name === invariant)
    const fails = async (smaller: Program): Promise<boolean> => (await this.run(smaller, broken)).failures.length > 0
    const smallest = await shrinkProgram(program, fails, this.#options.shrinkTries ?? 300)
    const { failures, trace } = await this.run(smallest, broken)
    const point = smallest.crashes.map(({ at, how }) => `${at} ${how}`).join(' > ')
    return {
      seed: program.seed,
      program: printProgram(smallest, invariant),
      ...(point !== '' && { point }),
      invariant,
      problems: failures[0]?.problems ?? [],
      trace,
    }
  }

  get #invariants(): readonly ProgramInvariant[] {
    return this.#options.invariants ?? programInvariants
  }
}
