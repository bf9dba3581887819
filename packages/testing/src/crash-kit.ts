import { SessionError } from '@bowline/sessions'
import { checkExploreOptions, checkScenario } from './check-options.ts'
import { printPoint, type CrashPoint } from './crash-kit/crash-plan.ts'
import { standardInvariants } from './crash-kit/invariants.ts'
import { runScenario, type ScenarioRun } from './crash-kit/run-scenario.ts'
import type { CrashEnd, CrashFailure, CrashMode, CrashReport, CrashScenario, ExploreOptions } from './crash-kit/types.ts'
import { warmUp } from './warm-up.ts'

const allModes: readonly CrashMode[] = ['kill', 'zombie']
const between = ' > '

/**
 * Runs a scenario once without a crash and numbers the points of its process: before and after each commit, each claim, each
 * start and end of a tool, each model call. Then runs it once per point and mode on a fresh store with the same time and ids,
 * disturbs it there, and checks the result. Equal scenarios and seeds give equal reports.
 */
export async function exploreCrashes(scenario: CrashScenario, options: ExploreOptions = {}): Promise<CrashReport> {
  checkScenario('scenario', scenario)
  checkExploreOptions('exploreCrashes.options', options)
  await warmUp()
  return new Exploration(scenario, options).explore()
}

class Exploration {
  readonly #scenario: CrashScenario
  readonly #options: ExploreOptions
  readonly #failures: CrashFailure[] = []
  #undisturbed: CrashEnd | undefined
  #runs = 0
  #tried = 0

  constructor(scenario: CrashScenario, options: ExploreOptions) {
    this.#scenario = scenario
    this.#options = options
  }

  async explore(): Promise<CrashReport> {
    const { modes = allModes, only } = this.#options
    const recorded = await this.#run('none', [])
    this.#check('', 'none', recorded)
    const points = recorded.lives[0] ?? []
    // Crashes are tried only if the scenario works without one.
    if (this.#failures.length === 0) {
      this.#undisturbed = recorded.end
      for (const mode of modes) await this.#strikeEach(mode, points)
      if (only !== undefined && this.#tried === 0) throw unknownPoint(only, points)
    }
    return { points: points.length, runs: this.#runs, failures: this.#failures, trace: recorded.trace }
  }

  async #strikeEach(mode: CrashMode, points: readonly CrashPoint[]): Promise<void> {
    for (const point of points) {
      const name = printPoint(point)
      if (!this.#leadsTo(name)) continue
      const run = await this.#run(mode, [point.number])
      if (this.#isWanted(name)) this.#check(name, mode, run)
      if (this.#isDeep(name)) await this.#strikeAgain(mode, point, run.lives[1] ?? [])
    }
  }

  async #strikeAgain(mode: CrashMode, first: CrashPoint, recovery: readonly CrashPoint[]): Promise<void> {
    for (const second of recovery) {
      const name = `${printPoint(first)}${between}${printPoint(second)}`
      if (!this.#isWanted(name)) continue
      this.#check(name, mode, await this.#run(mode, [first.number, second.number]))
    }
  }

  /** Returns true if the point is `only`, or leads to it: the name of a point in a recovery begins with that of the first crash. */
  #leadsTo(name: string): boolean {
    const { only } = this.#options
    return only === undefined || only === name || only.startsWith(name + between)
  }

  #isWanted(name: string): boolean {
    const { only } = this.#options
    return only === undefined || only === name
  }

  #isDeep(name: string): boolean {
    const { only, depth = 1 } = this.#options
    return only === undefined ? depth === 2 : only !== name
  }

  #run(mode: CrashMode | 'none', targets: readonly number[]): Promise<ScenarioRun> {
    this.#runs += 1
    const { seed = 1, restWithinMs = 600_000 } = this.#options
    return runScenario(this.#scenario, { plan: { mode, targets }, seed, restWithinMs })
  }

  #check(point: string, mode: CrashMode | 'none', { end, trace }: ScenarioRun): void {
    if (mode !== 'none') this.#tried += 1
    const seen: CrashEnd = this.#undisturbed ? { ...end, undisturbed: this.#undisturbed } : end
    const fail = (invariant: string, problems: readonly string[]): void => {
      if (problems.length > 0) this.#failures.push({ point, mode, invariant, problems, trace })
    }
    fail('the scenario ends', end.stuck === undefined ? [] : [end.stuck])
    for (const { name, check } of this.#scenario.invariants ?? standardInvariants) fail(name, check(seen))
  }
}

function unknownPoint(only: string, points: readonly CrashPoint[]): SessionError {
  const names = points.map((point) => JSON.stringify(printPoint(point))).join(', ')
  return new SessionError('invalid-config', `There is no point ${JSON.stringify(only)} in these modes; there are: ${names}.`)
}
