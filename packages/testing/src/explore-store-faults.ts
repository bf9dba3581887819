import { SessionError } from '@bowline/sessions'
import { checkScenario, checkStoreFaultOptions } from './check-options.ts'
import { standardInvariants } from './crash-kit/invariants.ts'
import { endsAlike } from './crash-kit/invariants/alike.ts'
import { runScenario, type ScenarioRun } from './crash-kit/run-scenario.ts'
import { seededRandom } from './crash-kit/seeded-random.ts'
import { isPossible, printFault, type PlannedFault, type StoreCall } from './crash-kit/store-faults.ts'
import type {
  CrashEnd,
  CrashScenario,
  ExploreStoreFaultsOptions,
  StoreFault,
  StoreFaultFailure,
  StoreFaultReport,
} from './crash-kit/types.ts'
import { warmUp } from './warm-up.ts'

const allFaults: readonly StoreFault[] = ['unavailable', 'answer-lost', 'full', 'away']
const then = ' > '

/**
 * Runs a scenario once undisturbed and numbers the calls to its store. Then runs it once per call and fault on a fresh store with
 * the same time and ids, and with pairs of faults that the seed draws. The process lives on. Checks each end, also against the
 * undisturbed one. Equal scenarios and seeds give equal reports.
 */
export async function exploreStoreFaults(scenario: CrashScenario, options: ExploreStoreFaultsOptions = {}): Promise<StoreFaultReport> {
  checkScenario('scenario', scenario)
  checkStoreFaultOptions('exploreStoreFaults.options', options)
  await warmUp()
  return new Exploration(scenario, options).explore()
}

interface Place {
  readonly call: StoreCall
  readonly fault: StoreFault
}

class Exploration {
  readonly #scenario: CrashScenario
  readonly #options: ExploreStoreFaultsOptions
  readonly #failures: StoreFaultFailure[] = []
  readonly #random: () => number
  #undisturbed: CrashEnd | undefined
  #runs = 0

  constructor(scenario: CrashScenario, options: ExploreStoreFaultsOptions) {
    this.#scenario = scenario
    this.#options = options
    this.#random = seededRandom(options.seed ?? 1)
  }

  async explore(): Promise<StoreFaultReport> {
    const { only, pairs = 0, singles } = this.#options
    const recorded = await this.#run([])
    this.#check('', recorded)
    if (this.#failures.length === 0) {
      this.#undisturbed = recorded.end
      if (only !== undefined) await this.#replay(only, recorded.calls)
      else {
        for (const place of this.#drawn(this.#placesOf(recorded.calls), singles)) await this.#strike(place)
        for (let pair = 0; pair < pairs; pair++) await this.#strikeTwice(recorded.calls)
      }
    }
    return { calls: recorded.calls.length, runs: this.#runs, failures: this.#failures, trace: recorded.trace }
  }

  #placesOf(calls: readonly StoreCall[]): readonly Place[] {
    const { faults = allFaults } = this.#options
    return calls.flatMap((call) => faults.filter((fault) => isPossible(fault, call)).map((fault) => ({ call, fault })))
  }

  /** Returns so many of the places, in their order, as the seed draws them. */
  #drawn(places: readonly Place[], count = places.length): readonly Place[] {
    const left = places.map((place) => ({ place, rank: this.#random() })).sort((a, b) => a.rank - b.rank)
    const drawn = new Set(left.slice(0, count).map(({ place }) => place))
    return places.filter((place) => drawn.has(place))
  }

  async #strike({ call, fault }: Place): Promise<void> {
    this.#check(printFault(call, fault), await this.#run([{ call: call.number, fault }]))
  }

  /** The second fault hits one of the calls after the first fault. */
  async #strikeTwice(calls: readonly StoreCall[]): Promise<void> {
    const first = this.#oneOf(this.#placesOf(calls))
    const one = await this.#run([{ call: first.call.number, fault: first.fault }])
    const later = this.#placesOf(one.calls.filter(({ number }) => number > first.call.number))
    if (later.length === 0) return
    const second = this.#oneOf(later)
    const plan = [first, second].map(({ call, fault }) => ({ call: call.number, fault }))
    this.#check([first, second].map(({ call, fault }) => printFault(call, fault)).join(then), await this.#run(plan))
  }

  #oneOf(places: readonly Place[]): Place {
    return places[Math.floor(this.#random() * places.length)] as Place
  }

  async #replay(only: string, calls: readonly StoreCall[]): Promise<void> {
    const points = only.split(then)
    const known = this.#placesOf(calls).map(({ call, fault }) => printFault(call, fault))
    if (!known.includes(points[0] ?? '') || !points.every((point) => /^\d+ .* ?(unavailable|answer-lost|full|away)$/.test(point))) {
      const names = known.map((each) => JSON.stringify(each)).join(', ')
      throw new SessionError('invalid-config', `There is no point ${JSON.stringify(only)} with these faults; there are: ${names}.`)
    }
    const plan = points.map((point): PlannedFault => ({ call: Number.parseInt(point, 10), fault: point.split(' ').at(-1) as StoreFault }))
    this.#check(only, await this.#run(plan))
  }

  #run(faults: readonly PlannedFault[]): Promise<ScenarioRun> {
    this.#runs += 1
    const { seed = 1, restWithinMs = 600_000 } = this.#options
    return runScenario(this.#scenario, { plan: { mode: 'none', targets: [] }, faults, seed, restWithinMs })
  }

  #check(point: string, { end, trace }: ScenarioRun): void {
    const seen: CrashEnd = this.#undisturbed ? { ...end, undisturbed: this.#undisturbed } : end
    const fail = (invariant: string, problems: readonly string[]): void => {
      if (problems.length > 0) this.#failures.push({ point, invariant, problems, trace })
    }
    fail('the scenario ends', end.stuck === undefined ? [] : [end.stuck])
    for (const { name, check } of [...(this.#scenario.invariants ?? standardInvariants), endsAlike]) fail(name, check(seen))
  }
}
