import fc from 'fast-check'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { compareCopies } from './copies.ts'
import { mortalScripts, scripts } from './draw-script.ts'
import { Reach } from './features.ts'
import type { Death } from './keeper.ts'
import type { Played } from './play-script.ts'
import type { Script } from './script.ts'
import { show } from './trace.ts'

type Compare = (script: Script) => Promise<Played>

/** Scripts that are compared in parts, so that no test takes long. */
export class Exploration {
  readonly reach = new Reach()
  count = 0
  readonly #seed: number
  readonly #perPart: number

  /** Explorations with different names draw different scripts. */
  constructor(name: number, perPart: number) {
    this.#seed = testSeed * 1_000 + name * 100
    this.#perPart = rounds({ short: perPart, long: 40 * perPart })
  }

  /** Compares the scripts of one part. Throws with the first difference, shrunk as far as some seconds allow. */
  async part(part: number): Promise<void> {
    const seed = this.#seed + part
    for (const [place, script] of fc.sample(scripts, { numRuns: this.#perPart, seed }).entries()) {
      await this.#compare(script).catch((error: unknown) => fail(error, { seed, place, script, number: this.count }))
    }
  }

  /** Compares scripts whose processes die, before and after each commit, until there are as many as belong to a part. */
  async crashPart(part: number): Promise<void> {
    const seed = this.#seed + part
    const end = this.count + this.#perPart
    for (const [place, drawn] of fc.sample(mortalScripts, { numRuns: this.#perPart, seed }).entries()) {
      const script = withoutDeath(drawn)
      const { commits } = await this.#compare(script).catch((error: unknown) => report(error, { seed, place, script, number: this.count }))
      for (const death of deathsOf(commits, place)) {
        if (this.count >= end) return
        const mortal = { ...script, deaths: [death] }
        await this.#compare(mortal).catch((error: unknown) => report(error, { seed, place, script: mortal, number: this.count }))
      }
    }
    throw new Error(`the scripts of part ${part} have too few commits`)
  }

  readonly #compare: Compare = async (script) => {
    this.count++
    const played = await compareCopies(script)
    this.reach.add(played.trace.reach)
    return played
  }
}

/** Short, so that more of its commits are about calls. */
function withoutDeath(script: Script): Script {
  const { scenario } = script
  return { ...script, scenario: { ...scenario, rounds: scenario.rounds.slice(0, 1).map((round) => ({ ...round, death: undefined })) } }
}

/** Before and after each commit is a death in a long run; else before one and after the next. */
const deathsPerCommit = rounds({ short: 1, long: 2 })

function deathsOf(commits: number, place: number): readonly Death[] {
  return Array.from({ length: commits }, (_, index) => index + 1).flatMap((commit): readonly Death[] => {
    const [one, other] = (commit >> 1) % 2 === 0 ? (['rejects', 'is-silent'] as const) : (['is-silent', 'rejects'] as const)
    const deaths: readonly Death[] = [{ commit, when: 'before', how: one }, { commit, when: 'after', how: other }]
    return ((commit + place) % 2 === 0 ? deaths : deaths.toReversed()).slice(0, deathsPerCommit)
  })
}

interface Found {
  readonly seed: number
  readonly place: number
  readonly script: Script
  /** How many scripts there were, this one included. */
  readonly number: number
}

const shrinkingMs = 5_000

async function fail(error: unknown, found: Found): Promise<never> {
  const { seed, place } = found
  const property = fc.asyncProperty(scripts, async (script) => void (await compareCopies(script)))
  const { counterexample, errorInstance } = await fc.check(property, { seed, path: String(place), numRuns: place + 1, interruptAfterTimeLimit: shrinkingMs })
  return report(errorInstance ?? error, { ...found, script: counterexample?.[0] ?? found.script })
}

function report(error: unknown, { seed, place, script, number }: Found): never {
  throw new Error(`script ${number} (seed ${seed}, place ${place}): ${error instanceof Error ? error.message : String(error)}\nscript: ${show(script)}`, { cause: error })
}
