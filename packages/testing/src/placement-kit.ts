import { checkPlacementKit } from './check-options.ts'
import { drawProgram } from './placement-kit/draw-program.ts'
import { placementInvariants } from './placement-kit/invariants.ts'
import { playProgram } from './placement-kit/play-program.ts'
import type { PlacementKitOptions } from './placement-kit/types.ts'
import { globalRunner } from './runner.ts'
import { warmUp } from './warm-up.ts'

const mostMs = 120_000
const linesOfTrace = 60

/**
 * Registers one test per program: clients that send, steer, stop and answer, timers, subagents, and workers that are killed or freeze
 * at random points. Each test checks that no work is lost, late or done twice.
 */
export function testPlacement(options: PlacementKitOptions): void {
  checkPlacementKit('testPlacement.options', options)
  const { name, programs = 100, seed = 1, runner = globalRunner() } = options
  runner.describe(`placement host: ${name}`, () => {
    for (let place = 0; place < programs; place++) {
      runner.it(`program ${seed + place}`, () => testProgram(seed + place, options), mostMs)
    }
  })
}

async function testProgram(seed: number, options: PlacementKitOptions): Promise<void> {
  await warmUp()
  const { end, trace } = await playProgram(drawProgram(seed), options)
  const problems = placementInvariants.flatMap(({ name, check }) => check(end).map((problem) => `${name}: ${problem}`))
  const all = end.stuck === undefined ? problems : [`the program ends: ${end.stuck}`, ...problems]
  if (all.length === 0) return
  const replay = `Play it again with programs: 1, seed: ${seed}.`
  throw new Error([...all, replay, ...trace.slice(-linesOfTrace)].join('\n'))
}
