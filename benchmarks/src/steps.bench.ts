import { contender as withModel } from './contenders/bowline.ts'
import { contender as withFunction } from './contenders/bowline-function.ts'
import type { Contender } from './contender.ts'
import { median, type Bench } from './harness.ts'
import { callsThenText, runWhole } from './turns.ts'

const places = [10, 100, 1_000]
const steps = 1_005
const rounds = 9

export const bench: Bench = {
  title: 'A step in memory',
  text: [
    `A run of ${steps.toLocaleString('en')} steps with one tool call each, on a memory journal without hooks: the mean of ten steps around the named one, and the median of that over ${rounds} runs.`,
    'A *model* of the AI SDK is sent the whole conversation at each step, of which only what is new is converted; a *function* is handed the messages as they are.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const [name, contender] of [
      ['function', withFunction],
      ['model', withModel],
    ] as const) {
      const perStep = await stepMilliseconds(contender)
      const [first = NaN] = perStep
      rows.push([name, ...perStep.map((ms) => ms.toFixed(3)), ((perStep.at(-1) ?? NaN) / first).toFixed(2)])
    }
    return { head: ['model', ...places.map((place) => `ms at step ${place.toLocaleString('en')}`), 'last × first'], rows }
  },
}

async function stepMilliseconds(contender: Contender): Promise<readonly number[]> {
  const answers = callsThenText(steps)
  const prepared = contender.prepare(answers)
  const samples = places.map((): number[] => [])
  for (let round = -1; round < rounds; round += 1) {
    const endedAt: number[] = []
    await runWhole(prepared, answers, { onToolResult: () => endedAt.push(performance.now()) })
    if (round < 0) continue
    for (const [index, place] of places.entries()) samples[index]?.push(meanAround(endedAt, place))
  }
  return samples.map(median)
}

function meanAround(endedAt: readonly number[], place: number): number {
  return ((endedAt[place + 4] ?? NaN) - (endedAt[place - 6] ?? NaN)) / 10
}
