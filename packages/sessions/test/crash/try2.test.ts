import { crashScenarios, type CrashScenario } from '@bowline/sessions/testing'
import { runScenario } from '../../src/testing/crash-kit/run-scenario.ts'
import { it } from 'vitest'
import * as planted from './planted-faults.ts'

it(`try`, async () => {
  const scenario: CrashScenario = {...crashScenarios[process.env.SHOW as 'tools'], ...(process.env.BUG ? {runtime: planted[process.env.BUG as 'earlyTake']} : {}) }
  for (const mode of process.env.MODES!.split(',') as ['kill']) {
    const run = await runScenario(scenario, { plan: { mode, targets: process.env.AT!.split(',').map(Number) }, seed: 1, restWithinMs: 600_000 })
    console.log(mode + '\n' + run.trace.join('\n'))
    console.log(run.end.sessions[0]?.runs.map((r) => r.status + r.attempts), run.end.stuck)
  }
})
