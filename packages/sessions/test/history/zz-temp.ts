import { checkHistory, readHistory, recordHistory, runProgram } from '@bowline/sessions/testing'
import { createRuntime } from '@bowline/sessions'
import { drawProgram } from '../../src/testing/programs/draw-program.ts'
const [from = 1, count = 100] = process.argv.slice(2).map(Number)
let ops = 0, bad = 0
const cpu = process.cpuUsage()
for (let seed = from; seed < from + count; seed++) {
  let moment = 0
  const all: string[][] = []
  await runProgram(drawProgram(seed), { faults: [{ name: 'r', runtime: ({ store, ...options }) => {
    const lines: string[] = []
    const rec = recordHistory({ process: `p${all.push(lines)}`, write: (l) => void lines.push(l), now: () => ++moment })
    return rec.runtime(createRuntime({ ...options, store: rec.store(store!) }))
  } }] })
  const history = readHistory(all.map((l) => l.join('\n')))
  const { problems } = checkHistory(history)
  ops += history.length
  if (problems.length > 0 && bad++ < 5) console.log('seed', seed, problems.map((p) => p.text).join('\n'))
}
console.log({ ops, bad, count, cpu: process.cpuUsage(cpu).user / 1000 })
