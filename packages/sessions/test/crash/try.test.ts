import { crashScenarios, exploreCrashes } from '@bowline/sessions/testing'
import { it } from 'vitest'
import * as planted from './planted-faults.ts'

for (const [bug, runtime] of Object.entries(planted)) for (const [name, scenario] of Object.entries(crashScenarios)) {
  it(`try ${name}`, async () => {
    const report = await exploreCrashes({...scenario, runtime})
    console.log(bug, name, report.points, report.runs, report.failures.length)
    for (const failure of report.failures.slice(0, Number(process.env.N ?? 3))) console.log(failure.mode, '|', failure.point, '|', failure.invariant, failure.problems, process.env.T ? '\n   ' + failure.trace.join('\n   ') : '')
  })
}
