import type { AgentEvent } from '@bowline/agent-loop'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { measure, type Bench } from './harness.ts'

const deltas = 100_000
const counts = [1, 2, 10]

export const bench: Bench = {
  title: 'Readers of one run',
  text: `One message of ${deltas.toLocaleString('en')} text deltas from a model function, read by so many readers at once: all have one buffer, and each sees every delta.`,
  async run() {
    const results = await measure(
      counts.map((readers) => ({ name: String(readers), run: () => readBy(readers) })),
      { warmups: 4 },
    )
    const [one] = results
    if (one === undefined) throw new Error('There are no readers')
    return {
      head: ['readers', 'ms', 'µs/delta', '× one'],
      rows: results.map(({ name, medianMs }) => [
        name,
        medianMs.toFixed(1),
        ((medianMs * 1000) / deltas).toFixed(2),
        (medianMs / one.medianMs).toFixed(2),
      ]),
    }
  },
}

async function readBy(readers: number): Promise<void> {
  const agent = contenderAgent(functionModel([{ text: deltas }]), 1)
  const run = agent.run('go')
  const others = Array.from({ length: readers - 1 }, () => countDeltas(run.events()))
  const seen = await Promise.all([countDeltas(run), ...others])
  if (seen.some((count) => count !== deltas)) throw new Error(`${seen.join(', ')} of ${deltas} deltas arrived`)
}

async function countDeltas(events: AsyncIterable<AgentEvent>): Promise<number> {
  let seen = 0
  for await (const event of events) if (event.type === 'text-delta') seen += 1
  return seen
}
